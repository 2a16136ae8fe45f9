//! Instructions and allocations of a request and of a free lock, in the client and in Redis. They
//! hardly depend on the machine or its load.

use std::env;

use lock_tests::figures::Spread;

use crate::{
    callgrind::{Counted, Executed},
    http::Guarded,
    repeat::{self, Repeated},
    report::{Goal, Report, Table, figure},
    setup::{BenchSetup, PATIENCE},
    subject::Name,
};

/// In step, so that Redis receives the commands of several tasks together.
const BATCH: usize = 8;
const MANY: usize = 64;

pub(super) async fn instructions(world: &BenchSetup) -> Report {
    let mut report = Report::default();
    let [bare, by_hand, layer] = [Guarded::Nothing, Guarded::HandRolled, Guarded::Layer];
    let bare = request(world, bare).await;
    let [by_hand, layer] = [request(world, by_hand).await, request(world, layer).await];
    let mut rows = vec![
        row("request without a lock", bare),
        row("request, hand-rolled in the handler", by_hand),
        row("request, **lock-tower's layer**", layer),
    ];
    let above = |request: Executed| request - bare;
    let ratio = above(layer).instructions / above(by_hand).instructions;
    let part = "request under the layer, above one without a lock, of hand-rolled";
    add(&mut report, "client_instructions", part, ratio, Goal::AtMost(1.35));
    let part = "request under the layer, above one without a lock";
    add(&mut report, "allocations", part, above(layer).allocations, Goal::AtMost(32.0));
    let part = "request, hand-rolled in the handler, above one without a lock";
    add(&mut report, "allocations", part, above(by_hand).allocations, Goal::Told);
    for (tasks, title, most, allocations) in
        [(1, "one task", 1.15, 16.0), (MANY, "64 tasks", 0.75, 10.0)]
    {
        let by_hand = cycle(world, Name::HandRolled, tasks).await;
        let ours = cycle(world, Name::Lock, tasks).await;
        rows.push(row(&format!("free lock, {title}, hand-rolled"), by_hand));
        rows.push(row(&format!("free lock, {title}, **lock-tower**"), ours));
        let part = format!("free lock, {title}, of hand-rolled");
        let ratio = ours.instructions / by_hand.instructions;
        add(&mut report, "client_instructions", part, ratio, Goal::AtMost(most));
        let part = format!("free lock, {title}");
        add(&mut report, "allocations", part, ours.allocations, Goal::AtMost(allocations));
    }
    for (tasks, title, most) in [(1, "one task", 1.2), (BATCH, "batches of 8", 0.85)] {
        let by_hand = in_redis(world, Name::HandRolled, tasks).await;
        let ours = in_redis(world, Name::Lock, tasks).await;
        rows.push(row(&format!("Redis, free lock, {title}, hand-rolled"), by_hand));
        rows.push(row(&format!("Redis, free lock, {title}, **lock-tower**"), ours));
        let part = format!("free lock, {title}, of hand-rolled");
        let ratio = ours.instructions / by_hand.instructions;
        add(&mut report, "redis_instructions", part, ratio, Goal::AtMost(most));
    }
    report.tables.push(Table {
        title: "Instructions",
        note: "Counted by callgrind: N and 2N repetitions, the difference divided by N. A free \
               lock is an acquisition and its release; keys in turn."
            .to_owned(),
        columns: vec!["of", "instructions", "allocations"],
        rows,
    });
    report
}

async fn request(world: &BenchSetup, guarded: Guarded) -> Executed {
    client(world, Some(guarded), None, 1).await
}

async fn cycle(world: &BenchSetup, name: Name, tasks: usize) -> Executed {
    client(world, None, Some(name), tasks).await
}

/// What this program executes for each repetition.
async fn client(
    world: &BenchSetup,
    guarded: Option<Guarded>,
    subject: Option<Name>,
    tasks: usize,
) -> Executed {
    let program = env::current_exe().expect("a running program has a path");
    let mut totals = Vec::new();
    let once = count(world);
    for count in [once, 2 * once] {
        let url = world.url.clone();
        let repeated = Repeated { guarded, subject, tasks, count, url };
        let mut words = vec![program.display().to_string()];
        words.append(&mut repeated.words());
        totals.push(Counted::start(&words).executed().await);
        world.observer.empty().await;
    }
    (totals[1] - totals[0]).over(once)
}

/// What a Redis of its own executes for each free lock.
async fn in_redis(world: &BenchSetup, name: Name, tasks: usize) -> Executed {
    let program = env::var("REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
    let mut totals = Vec::new();
    let once = count(world);
    for count in [once, 2 * once] {
        let port = lock_tests::free_port();
        let words = [&*program, "--port", &port.to_string(), "--save", ""];
        let redis = Counted::start(&words.map(ToOwned::to_owned));
        redis.process.line("Ready to accept connections", PATIENCE).await;
        repeat::cycles(name, &format!("redis://127.0.0.1:{port}"), tasks, count).await;
        redis.process.terminate();
        totals.push(redis.executed().await);
    }
    (totals[1] - totals[0]).over(once)
}

/// Divisible by the number of tasks.
fn count(world: &BenchSetup) -> usize {
    world.count(4_096, 1_024)
}

fn row(title: &str, each: Executed) -> Vec<String> {
    vec![title.to_owned(), figure(each.instructions), figure(each.allocations)]
}

fn add(report: &mut Report, name: &'static str, part: impl Into<String>, value: f64, goal: Goal) {
    report.ratio(name, part, Spread::of([value]), goal);
}
