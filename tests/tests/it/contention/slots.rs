//! Jobs that run once per slot, and locks that outlast their work, in processes that end, fail or are killed.

use std::time::{Duration, SystemTime};

use lock_core::{LockClient, SlotRun, Slots};
use lock_tests::{LIMIT, Process, RedisServer, Wire, eventually, on_every_wire};

use super::crowd::Crowd;

on_every_wire! {
    processes_whose_clocks_differ_run_a_slot_once
    a_run_that_is_killed_is_repeated_by_another_process
    a_run_that_fails_is_repeated_and_one_that_succeeded_is_not
    nothing_is_left_of_a_slot
    a_process_that_ends_after_its_work_leaves_the_lock_for_the_rest_of_its_time
}

const HOUR: Duration = Duration::from_secs(60 * 60);
/// A long lease, which no test outlasts.
const LONG_LEASE: Duration = Duration::from_secs(60);

/// Half a minute after full hour, some years ago.
fn in_the_slot() -> SystemTime {
    SystemTime::UNIX_EPOCH + 400_000 * HOUR + Duration::from_secs(30)
}

/// One call of the job `job`, whose work takes this many milliseconds, or `fails`.
struct Call<'a> {
    length: Duration,
    at: SystemTime,
    work: &'a str,
    lease: Duration,
}

impl Call<'_> {
    fn now(work: &str) -> Call<'_> {
        Call { length: HOUR, at: in_the_slot(), work, lease: LONG_LEASE }
    }

    fn begin(&self, member: &Process, name: &str) {
        let Self { length, at, work, lease } = self;
        let at = at.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let [length, at, lease] = [*length, at, *lease].map(|time| time.as_millis());
        member.say(&format!("slot {name} job {length} {at} log {work} {lease}"));
    }

    /// The outcome of the call.
    async fn run(&self, member: &Process, name: &str) -> String {
        self.begin(member, name);
        outcome(member, name).await
    }
}

async fn outcome(member: &Process, name: &str) -> String {
    let said = format!("slot {name} ");
    let line = member.line(&said, LIMIT).await;
    line.strip_prefix(&said).unwrap().to_owned()
}

async fn processes_whose_clocks_differ_run_a_slot_once(wire: Wire) {
    let crowd = Crowd::start(wire, 3).await;
    for round in 0..10 {
        let mut call = Call::now("20");
        for (member, behind) in crowd.members.iter().zip([0, 20, 28]) {
            call.at = in_the_slot() + round * HOUR - Duration::from_secs(behind);
            call.begin(member, &round.to_string());
        }
        let mut runs = 0;
        for member in &crowd.members {
            let outcome = outcome(member, &round.to_string()).await;
            assert!(["Ran(1)", "AlreadyRan", "Running"].contains(&&*outcome), "{outcome}");
            runs += usize::from(outcome == "Ran(1)");
        }
        assert_eq!(runs, 1);
        for member in &crowd.members {
            let late = Call { at: call.at, ..Call::now("20") };
            assert_eq!(late.run(member, &format!("late{round}")).await, "AlreadyRan");
        }
        assert_eq!(crowd.log("log").await.len(), 1 + round as usize);
    }
}

async fn a_run_that_is_killed_is_repeated_by_another_process(wire: Wire) {
    let crowd = Crowd::start(wire, 2).await;
    let [killed, other] = &crowd.members[..] else { panic!("two processes") };
    let lease = Duration::from_secs(1);
    let forever = Call { lease, ..Call::now("1000000") };
    forever.begin(killed, "killed");
    eventually("it runs", LIMIT, async || crowd.log("log").await.len() == 1).await;
    let again = Call { lease, ..Call::now("20") };
    assert_eq!(again.run(other, "beside").await, "Running");
    killed.kill();
    let mut tries = 0;
    let ran = async || {
        tries += 1;
        match &*again.run(other, &format!("again{tries}")).await {
            "Running" => false,
            outcome => {
                assert_eq!(outcome, "Ran(2)");
                true
            }
        }
    };
    eventually("it runs again", LIMIT, ran).await;
    assert_eq!(again.run(other, "done").await, "AlreadyRan");
    let runs = crowd.log("log").await;
    assert_eq!(runs, [format!("1 {}", killed.pid()), format!("2 {}", other.pid())]);
}

async fn a_run_that_fails_is_repeated_and_one_that_succeeded_is_not(wire: Wire) {
    let crowd = Crowd::start(wire, 2).await;
    let [one, two] = &crowd.members[..] else { panic!("two processes") };
    for (number, member) in [(1, one), (2, two), (3, one)] {
        let outcome = Call::now("fails").run(member, &format!("fails{number}")).await;
        assert_eq!(outcome, format!("failed({number})"));
    }
    assert_eq!(Call::now("20").run(two, "succeeds").await, "Ran(4)");
    // A process that ends leaves the slot marked.
    two.say("end");
    assert!(two.exited(LIMIT).await.success());
    assert_eq!(Call::now("20").run(one, "late").await, "AlreadyRan");
}

async fn nothing_is_left_of_a_slot(wire: Wire) {
    let crowd = Crowd::start(wire, 1).await;
    let second = Duration::from_secs(1);
    let call = Call { length: second, lease: second, ..Call::now("20") };
    assert_eq!(call.run(&crowd.members[0], "runs").await, "Ran(1)");
    let locks =
        async || -> Vec<String> { crowd.cli.query(&["KEYS", "lock:lock-slot:job:*"]).await };
    eventually("the slot is over", LIMIT, async || locks().await.is_empty()).await;
    assert_eq!(call.run(&crowd.members[0], "again").await, "Ran(1)", "it is another slot's clock");
}

/// On Redisson's wire each key has a token, which is kept forever if that was requested.
#[tokio::test]
async fn the_tokens_of_a_slot_are_never_permanent() {
    let server = RedisServer::start().await;
    let (cli, locks) = (server.cli().await, LockClient::builder().redisson());
    let locks = locks.connect(&server.url()).await.unwrap();
    let job = locks.fenced("job").once_per(Slots::every(HOUR));
    assert_eq!(job.run(async |_| Ok::<_, ()>(())).await.unwrap(), SlotRun::Ran(()));
    let mut permanent = Vec::new();
    let tokens: Vec<String> = cli.query(&["KEYS", "redisson_lock_token:*"]).await;
    assert_eq!(tokens.len(), 3, "{tokens:?}");
    for token in tokens {
        if cli.query::<i64>(&["PTTL", &token]).await < 0 {
            permanent.push(token);
        }
    }
    assert_eq!(permanent, ["redisson_lock_token:{job}"]);
}

async fn a_process_that_ends_after_its_work_leaves_the_lock_for_the_rest_of_its_time(wire: Wire) {
    let least = Duration::from_secs(2);
    for how in ["release", "shutdown"] {
        let crowd = Crowd::start(wire, 2).await;
        let [job, next] = &crowd.members[..] else { panic!("two processes") };
        let [lease, time] = [LONG_LEASE, least].map(|time| time.as_millis());
        job.say(&format!("end {how} k {lease} {time} log"));
        assert!(job.exited(LIMIT).await.success());
        next.say("turn read_write k log next");
        // Long before the lease would have ended.
        next.line("turned next", LONG_LEASE / 2).await;
        let log = crowd.timed_log("log").await;
        let [(granted, _), (free, _)] = &log[..] else { panic!("{log:?}") };
        assert!(u128::from(free - granted) >= time, "{how}: {log:?}");
    }
}
