//! Three processes of which one leads: killed, stopped, and stopped by its operator.

use std::{collections::BTreeMap, env, time::Duration};

use lock_core::LockClient;
use lock_tests::{
    Cli, LIMIT, Process, RedisServer, Stopwatch, bounded, eventually, unless_stalled,
};

/// How often the leader is killed; `LEADER_KILLS` sets another number.
const KILLS: usize = 10;
const LEASE: Duration = Duration::from_millis(400);
/// From the end of a lease to the first step of the next term.
const A_MOMENT: Duration = Duration::from_millis(200);
/// Long enough for a test that sees a step to stop the process before the next one.
const STEP: Duration = Duration::from_millis(100);

/// One step of a leader's work.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    term: u64,
    process: u32,
}

/// The processes, and the steps of all of them in the order in which Redis received them.
struct Scene {
    redis: RedisServer,
    cli: Cli,
    locks: LockClient,
    processes: BTreeMap<u32, Process>,
}

impl Scene {
    async fn start() -> Self {
        let redis = RedisServer::start().await;
        let (cli, locks) = (redis.cli().await, LockClient::connect(&redis.url()).await.unwrap());
        Self { redis, cli, locks, processes: BTreeMap::new() }
    }

    fn add_process(&mut self, lease: Duration, step: Duration) {
        let process = Process::builder(env!("CARGO_BIN_EXE_candidate"))
            .env("REDIS_URL", self.redis.url())
            .env("LEASE_MS", lease.as_millis().to_string())
            .env("STEP_MS", step.as_millis().to_string())
            .start();
        self.processes.insert(process.pid(), process);
    }

    async fn steps(&self) -> Vec<Step> {
        self.entries(&["XRANGE", "steps", "-", "+"]).await
    }

    async fn entries(&self, query: &[&str]) -> Vec<Step> {
        let entries: Vec<(String, Vec<String>)> = self.cli.query(query).await;
        let step = |(_, fields): (String, Vec<String>)| {
            let [_, term, _, process] = &fields[..] else { panic!("{fields:?}") };
            Step { term: term.parse().unwrap(), process: process.parse().unwrap() }
        };
        entries.into_iter().map(step).collect()
    }

    /// Waits for a step of a term after `term`.
    async fn later_than(&self, term: u64) -> Step {
        loop {
            let last = self.entries(&["XREVRANGE", "steps", "+", "-", "COUNT", "1"]).await;
            if let Some(step) = last.into_iter().find(|step| step.term > term) {
                return step;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until this many processes wait to lead.
    async fn until_waiting(&self, count: usize) {
        let waiting = async || self.locks.inspect("reconciler").await.unwrap().waiting == count;
        eventually("the others wait", LIMIT, waiting).await;
    }

    /// Checks that no step of a term comes after one of a later term, and that each term is led by one
    /// process. Returns how many terms there were.
    async fn check(&self) -> usize {
        let mut terms = BTreeMap::new();
        let steps = self.steps().await;
        for step in &steps {
            let last = terms.last_key_value().map_or(0, |(term, _)| *term);
            assert!(step.term >= last, "{step:?} after a step of term {last}: {steps:?}");
            let process = *terms.entry(step.term).or_insert(step.process);
            assert_eq!(process, step.process, "two processes led term {}", step.term);
        }
        terms.len()
    }
}

#[tokio::test]
async fn a_leader_that_is_killed_is_followed_within_the_lease() {
    let kills = env::var("LEADER_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    unless_stalled(async || {
        let mut scene = Scene::start().await;
        for _ in 0..3 {
            scene.add_process(LEASE, Duration::from_millis(2));
        }
        let mut leader = bounded(LIMIT, scene.later_than(0)).await;
        let mut gaps = Vec::new();
        for _ in 0..kills {
            scene.until_waiting(2).await;
            let stopwatch = Stopwatch::start();
            let killed = scene.processes.remove(&leader.process).unwrap();
            killed.kill();
            let began = std::time::Instant::now();
            leader = stopwatch.within(LEASE + A_MOMENT, scene.later_than(leader.term)).await;
            gaps.push(began.elapsed());
            scene.add_process(LEASE, Duration::from_millis(2));
        }
        assert!(scene.check().await > kills);
        gaps.sort();
        println!("{kills} leaders killed, lease {LEASE:?}: {gaps:?}");
    })
    .await;
}

#[tokio::test]
async fn a_leader_that_was_stopped_takes_no_step_more() {
    unless_stalled(async || {
        let mut scene = Scene::start().await;
        scene.add_process(LEASE, STEP);
        scene.add_process(LEASE, STEP);
        let leader = bounded(LIMIT, scene.later_than(0)).await;
        let process = &scene.processes[&leader.process];
        scene.until_waiting(1).await;
        // Right after a step, so that it is not stopped in the middle of one.
        let before = scene.steps().await.len();
        eventually("one more step", LIMIT, async || scene.steps().await.len() > before).await;
        process.pause();
        bounded(LIMIT, scene.later_than(leader.term)).await;
        process.resume();
        process.line("leads no more", LIMIT).await;
        scene.until_waiting(1).await;
        assert!(scene.check().await >= 2);
    })
    .await;
}

#[tokio::test]
async fn a_leader_that_is_terminated_resigns() {
    let mut scene = Scene::start().await;
    scene.add_process(super::NEVER, STEP);
    scene.add_process(super::NEVER, STEP);
    let leader = bounded(LIMIT, scene.later_than(0)).await;
    let process = &scene.processes[&leader.process];
    scene.until_waiting(1).await;
    process.terminate();
    bounded(LIMIT, scene.later_than(leader.term)).await;
    assert!(process.exited(LIMIT).await.success());
    assert_eq!(scene.check().await, 2);
}
