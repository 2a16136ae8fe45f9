//! What one more reader costs where there are others.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use lock_core::{
    Kind, LockClient, LockKey, Mode,
    test_util::{Answer, Ask, Step, StepOwner, StoreProbe},
};
use lock_tests::figures::Spread;

use crate::{
    report::{Goal, Report, Table, figure, spread},
    setup::BenchSetup,
    subject::ours,
};

const READERS: usize = 1_000;
/// The others stay, and are not renewed.
const LEASE: Duration = Duration::from_secs(3_600);
const AT_ONCE: usize = 64;

/// Microseconds that Redis spent in scripts, for each acquisition and for each release.
pub(crate) struct ServerTime {
    pub(crate) take_us: f64,
    pub(crate) release_us: f64,
}

pub(super) async fn release_among_readers(world: &BenchSetup) -> Report {
    let cycles = world.count(400, 40);
    let (mut alone, mut among) = (Vec::new(), Vec::new());
    let others = Crowd::join(world, "crowded", READERS).await;
    for _ in 0..world.repeats() {
        alone.push(server_time(world, "lonely", cycles).await);
        among.push(server_time(world, "crowded", cycles).await);
    }
    others.leave().await;
    let released =
        |times: &[ServerTime]| times.iter().map(|time| time.release_us).collect::<Vec<_>>();
    let ratio = Spread::of_ratios(&released(&among), &released(&alone));
    let mut report = Report::default();
    report.ratio("release_1000_readers", "read", ratio, Goal::AtMost(1.5));
    let row = |readers: usize, times: &[ServerTime]| {
        let taken = Spread::of(times.iter().map(|time| time.take_us));
        let released = Spread::of(times.iter().map(|time| time.release_us));
        vec![readers.to_string(), figure(taken.median), spread(released)]
    };
    report.tables.push(Table {
        title: "One more reader",
        note: "Server time inside the script, as Redis reports it.".to_owned(),
        columns: vec!["readers there already", "acquisition, us", "release, us"],
        rows: vec![row(0, &alone), row(READERS, &among)],
    });
    report
}

/// Measures one reader that acquires and releases, with its own client.
pub(crate) async fn server_time(world: &BenchSetup, key: &str, cycles: usize) -> ServerTime {
    let client = ours::client(&world.url).await;
    let (mut take_us, mut release_us) = (0.0, 0.0);
    for _ in 0..cycles {
        let before = world.observer.look().await;
        let guard = client.read(key).acquire().await.expect("a read lock");
        let between = world.observer.look().await;
        guard.release().await.expect("a release");
        let after = world.observer.look().await;
        take_us += between.since(&before, &[]).script_us;
        release_us += after.since(&between, &[]).script_us;
    }
    client.shutdown(Duration::from_secs(10)).await.expect("nothing is held");
    let count = cycles as f64;
    ServerTime { take_us: take_us / count, release_us: release_us / count }
}

/// Readers of one key, each an owner of its own as if each were in another process: step by step,
/// since a client might read once for all of its own.
pub(crate) struct Crowd {
    client: LockClient,
    steps: StoreProbe,
    members: Vec<StepOwner>,
}

impl Crowd {
    pub(crate) async fn join(world: &BenchSetup, key: &str, readers: usize) -> Self {
        let client = ours::client(&world.url).await;
        let steps = StoreProbe::of(&client);
        let key = LockKey::try_from(key).expect("a key");
        let ask = Ask {
            mode: Mode::Read,
            holds: 1,
            lease: LEASE,
            yields: false,
            place: None,
            waited: Duration::ZERO,
            permits: 0,
            wanted_permits: 0,
        };
        let members: Vec<_> = (0..readers).map(|_| steps.owner(Kind::ReadWrite, &key)).collect();
        let joined = stream::iter(&members).map(|member| steps.take(member, Step::Acquire(ask)));
        let answers: Vec<_> = joined.buffer_unordered(AT_ONCE).collect().await;
        let granted = |answer: &Result<Answer, _>| matches!(answer, Ok(Answer::Granted { .. }));
        assert!(answers.iter().all(granted), "a reader among readers was refused");
        Self { client, steps, members }
    }

    pub(crate) async fn leave(self) {
        let step = Step::Release { mode: Mode::Read, holds: 0, in_line: false };
        let left = stream::iter(&self.members).map(|member| self.steps.take(member, step));
        let answers: Vec<_> = left.buffer_unordered(AT_ONCE).collect().await;
        assert!(answers.iter().all(Result::is_ok), "a reader could not leave");
        drop((self.members, self.steps));
        self.client.shutdown(Duration::from_secs(10)).await.expect("nothing is held");
    }
}
