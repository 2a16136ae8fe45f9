//! Very many locks held by one process.

use std::{
    thread,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream};
use lock_core::{LockClient, LockGuard};
use lock_tests::figures::{Spread, percentile};
use tokio::{task::spawn_blocking, time::sleep};

use crate::{
    clock::{US, now, processor_time},
    report::{Goal, Report, Table, figure, spread},
    setup::{BenchSetup, PATIENCE},
    subject::ours,
};

const LOCKS: usize = 100_000;
/// A third of it is a round.
const LEASE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_secs(15);
const AT_ONCE: usize = 256;

/// How often the bystander sends a command.
const EVERY: Duration = Duration::from_millis(1);

struct Round {
    sent: f64,
    within: f64,
    /// Microseconds per lock.
    client_us: f64,
    redis_us: f64,
}

pub(super) async fn renewal(world: &BenchSetup) -> Report {
    let lease = if world.quick { SHORT } else { LEASE };
    let client = ours::client_with_lease(&world.url, lease).await;
    let mut alone = Vec::new();
    for _ in 0..world.repeats() {
        alone.push(bystander(&world.url, lease / 3).await);
    }
    let requested = now();
    let guards = take_many(&client, LOCKS).await;
    let taken = LOCKS as f64 * 1e9 / (now() - requested) as f64;
    // Whatever was due when the last was taken is over.
    sleep(lease / 3).await;
    let (mut rounds, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..world.repeats() {
        rounds.push(round(world, lease / 3).await);
        // By itself: its commands would be counted.
        beside.push(bystander(&world.url, lease / 3).await);
    }
    let held = guards.iter().filter(|guard| guard.is_held()).count();
    assert_eq!(held, LOCKS, "locks were lost");
    let dropped = now();
    drop(guards);
    client.shutdown(PATIENCE).await.expect("all is given back");
    let given_back = LOCKS as f64 * 1e9 / (now() - dropped) as f64;

    let of = |figure: fn(&Round) -> f64| Spread::of(rounds.iter().map(figure));
    let mut report = Report::default();
    let sent = of(|round| round.sent);
    // In batches of 32.
    report.ratio("renew_100k_commands", "write", sent, Goal::AtMost(3_300.0));
    let ratio = Spread::of_ratios(&beside, &alone);
    report.ratio("renew_100k_bystander_p99", "write", ratio, Goal::AtMost(2.0));
    let row = vec![
        LOCKS.to_string(),
        spread(sent),
        spread(of(|round| round.within)),
        figure(of(|round| round.client_us).median),
        figure(of(|round| round.redis_us).median),
        figure(taken),
        figure(given_back),
        spread(Spread::of(alone)),
        spread(Spread::of(beside)),
    ];
    report.tables.push(Table {
        title: "Renewal",
        note: format!("Write locks of one client with a lease of {lease:?}: one round is a third."),
        columns: vec![
            "locks",
            "commands sent per round",
            "called by scripts",
            "client CPU per lock, us",
            "Redis CPU per lock, us",
            "acquired before, locks/s",
            "released after, locks/s",
            "p99 of a bystander before, us",
            "p99 of a bystander meanwhile, us",
        ],
        rows: vec![row],
    });
    report
}

/// Whatever is renewed in this time, which is one round: each lock once.
async fn round(world: &BenchSetup, time: Duration) -> Round {
    let before = world.observer.look().await;
    let (start, processor) = (now(), processor_time());
    sleep(time).await;
    let (elapsed, processor) = (now() - start, processor_time() - processor);
    let spent = world.observer.look().await.since(&before, &[]);
    // A machine that woke up late has seen more than one round.
    let rounds = elapsed as f64 / time.as_nanos() as f64;
    let locks = rounds * LOCKS as f64;
    Round {
        sent: spent.sent / rounds,
        within: spent.within / rounds,
        client_us: processor as f64 / US / locks,
        redis_us: spent.processor_us / locks,
    }
}

/// The p99, in microseconds, of a client that sends a PING every millisecond for this time. In a thread:
/// only Redis is between it and the renewals.
async fn bystander(url: &str, time: Duration) -> f64 {
    let client = redis::Client::open(url).expect("a URL");
    let pings = move || {
        let mut connection = client.get_connection().expect("a server");
        let (began, mut took) = (Instant::now(), Vec::new());
        while began.elapsed() < time {
            let sent = now();
            let () = redis::cmd("PING").query(&mut connection).expect("a reply");
            took.push(now() - sent);
            thread::sleep(EVERY);
        }
        percentile(&took, 99) as f64 / US
    };
    spawn_blocking(pings).await.expect("no panic")
}

/// Write locks on so many keys.
pub(crate) async fn take_many(client: &LockClient, count: usize) -> Vec<LockGuard> {
    let taken = stream::iter(0..count)
        .map(|number| client.write(format!("held-{number}")).acquire())
        .buffer_unordered(AT_ONCE);
    let mut guards = Vec::with_capacity(count);
    let mut taken = std::pin::pin!(taken);
    while let Some(guard) = taken.next().await {
        guards.push(guard.expect("a lock"));
    }
    guards
}
