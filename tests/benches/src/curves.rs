//! How the cost of one operation grows with what else is there.

pub(crate) mod plot;

use std::time::Duration;

use lock_tests::figures::Spread;

use crate::{
    clock::US,
    cycles::Cycling,
    measure::{Contending, contest, contest_of_processes, readers, take_many},
    report::{Curve, Line, Report},
    setup::{BenchSetup, PATIENCE},
    subject::{Name, ours},
};

/// Points of one line after the other, each with what was measured there.
struct Lines<const N: usize>([Line; N]);

impl<const N: usize> Lines<N> {
    fn new(titles: [&'static str; N]) -> Self {
        Self(titles.map(|title| Line { title, points: Vec::new() }))
    }

    fn add(&mut self, x: usize, runs: &[[f64; N]]) {
        for (line, points) in self.0.iter_mut().enumerate() {
            let spread = Spread::of(runs.iter().map(|run| run[line]));
            points.points.push((x as f64, spread));
        }
    }

    fn report(
        self,
        name: &'static str,
        title: &'static str,
        x: &'static str,
        y: &'static str,
    ) -> Report {
        let curve = Curve { name, title, x, y, lines: self.0.into() };
        Report { curves: vec![curve], ..Report::default() }
    }
}

pub(crate) async fn readers(world: &BenchSetup) -> Report {
    let mut lines = Lines::new(["acquisition", "release"]);
    for others in [0, 1, 3, 10, 30, 100, 300, 1_000] {
        let key = format!("curve-{others}");
        let crowd = readers::Crowd::join(world, &key, others).await;
        let mut runs = Vec::new();
        for _ in 0..world.repeats() {
            let time = readers::server_time(world, &key, world.count(100, 20)).await;
            runs.push([time.take_us, time.release_us]);
        }
        crowd.leave().await;
        lines.add(others, &runs);
    }
    let (title, y) = ("One more reader among others", "Server time inside the script, us");
    lines.report("curve_readers", title, "readers there already", y)
}

pub(crate) async fn waiters(world: &BenchSetup) -> Report {
    let subject = Name::Write.connect(&world.url).await;
    let mut lines = Lines::new(["release to next hold, p50, us", "commands sent per turn"]);
    for waiters in [1, 3, 10, 30, 100, 300, 1_000] {
        let mut runs = Vec::new();
        for repeat in 0..world.repeats() {
            let key = format!("curve-{waiters}-{repeat}");
            let run = contest(world, Name::Write, &subject, Contending::of(waiters + 1, key)).await;
            runs.push([run.contest.handed_on as f64 / US, run.sent]);
        }
        lines.add(waiters, &runs);
    }
    let (title, y) = ("Waiters on one key, in one process", "Per turn");
    lines.report("curve_waiters", title, "waiters", y)
}

pub(crate) async fn keys(world: &BenchSetup) -> Report {
    let subject = Name::Write.connect(&world.url).await;
    let cycling = Cycling { tasks: 1, keys: 1_024, time: world.run() };
    let mut lines = Lines::new(["acquisition, p50", "client CPU per cycle", "Redis CPU per cycle"]);
    for held in [0, 100, 1_000, 10_000, 100_000] {
        // Not renewed meanwhile: the cost of renewal is measured separately.
        let holder = ours::client_with_lease(&world.url, Duration::from_secs(3_600)).await;
        let guards = take_many(&holder, held).await;
        let mut runs = Vec::new();
        for _ in 0..world.repeats() {
            let run = cycling.run(Name::Write, &subject, &world.observer).await;
            runs.push([run.take_us, run.client_us, run.redis_us]);
        }
        drop(guards);
        holder.shutdown(PATIENCE).await.expect("all is given back");
        lines.add(held, &runs);
    }
    let (title, y) = ("Acquiring and releasing while others are held", "Microseconds");
    lines.report("curve_keys", title, "locks held", y)
}

pub(crate) async fn processes(world: &BenchSetup) -> Report {
    let mut lines = Lines::new(["release to next hold, p50, us", "commands sent per turn"]);
    for processes in [1, 2, 4, 8, 16] {
        let mut runs = Vec::new();
        for _ in 0..world.repeats() {
            let run = contest_of_processes(world, Name::Write, processes, 1).await;
            runs.push([run.contest.handed_on as f64 / US, run.sent]);
        }
        lines.add(processes, &runs);
    }
    let (title, y) = ("Processes that contend for one key, one task each", "Per turn");
    lines.report("curve_processes", title, "processes", y)
}
