//! The cost of one more reader among others.

use std::{net::SocketAddr, time::Duration};

use futures_util::{StreamExt, stream};
use lock_core::{
    Kind, LockClient, LockKey, Mode,
    test_util::{Answer, Ask, Step, StepOwner, StoreProbe},
};
use lock_tests::{Executed, figures::Spread};

use crate::{
    report::{Curve, Goal, Line, Report},
    setup::PATIENCE,
    subject::ours,
};

/// Readers that stay while one more acquires and releases, and the goal for it.
const OTHERS: [(usize, Goal); 5] = [
    (1, Goal::AtMost(6.0)),
    (3, Goal::Reported),
    (10, Goal::Reported),
    (100, Goal::Reported),
    (1_000, Goal::AtMost(6.0)),
];
const KEY: &str = "read";
/// The others stay, and are not renewed.
const LEASE: Duration = Duration::from_secs(3_600);
const AT_ONCE: usize = 64;

pub(super) async fn readers() -> Report {
    let mut report = Report::default();
    let mut line = Line { title: "**lock-tower, read**", points: Vec::new() };
    let alone = pair(0).await;
    line.points.push((1.0, Spread::of([alone])));
    for (others, goal) in OTHERS {
        let among = pair(others).await;
        let part = format!("among {others}: Redis' instructions of the pair, of alone");
        report.ratio("reader_among_readers", part, Spread::of([among / alone]), goal);
        line.points.push(((others + 1) as f64, Spread::of([among])));
    }
    report.curves.push(Curve {
        name: "readers",
        title: "One more reader: Redis' work by readers",
        x: "readers, this one included",
        y: "Redis' instructions to acquire and release",
        lines: vec![line],
    });
    report
}

/// Counts the instructions of Redis for one reader that acquires and releases, with its own client.
async fn pair(others: usize) -> f64 {
    let work = async |server: SocketAddr, count| {
        let url = format!("redis://{server}");
        let crowd = Crowd::join(&url, others).await;
        let client = ours::client(&url).await;
        for _ in 0..count {
            let guard = client.read(KEY).acquire().await.expect("a read lock");
            guard.release().await.expect("a release");
        }
        client.shutdown(PATIENCE).await.expect("nothing is held");
        crowd.leave().await;
    };
    Executed::in_redis(1, work).await.instructions
}

/// Readers of one key, each another owner, as if each were in another process: step by step,
/// since a client might read once for all its readers.
struct Crowd {
    client: LockClient,
    steps: StoreProbe,
    members: Vec<StepOwner>,
}

impl Crowd {
    async fn join(url: &str, readers: usize) -> Self {
        let client = ours::client(url).await;
        let steps = StoreProbe::of(&client);
        let key = LockKey::try_from(KEY).expect("a key");
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

    async fn leave(self) {
        let step = Step::Release { mode: Mode::Read, holds: 0, in_line: false };
        let left = stream::iter(&self.members).map(|member| self.steps.take(member, step));
        let answers: Vec<_> = left.buffer_unordered(AT_ONCE).collect().await;
        assert!(answers.iter().all(Result::is_ok), "a reader could not leave");
        drop((self.members, self.steps));
        self.client.shutdown(PATIENCE).await.expect("nothing is held");
    }
}
