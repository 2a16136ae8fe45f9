//! The commands that processes send while they wait for a key that stays held.

use std::{pin::pin, time::Duration};

use futures_util::{Stream, StreamExt};
use lock_tests::figures::Spread;
use tokio::{select, time::sleep};

use crate::{
    report::{Goal, Report},
    setup::{BenchSetup, PATIENCE},
    subject::ours,
};

const PROCESSES: usize = 200;
const WAIT: Duration = Duration::from_secs(2);

pub(super) async fn waiting(world: &BenchSetup) -> Report {
    let mut counts = Vec::new();
    for repeat in 0..world.repeats() {
        counts.push(commands(world, &format!("held-{repeat}")).await / PROCESSES as f64);
    }
    let mut report = Report::default();
    let part = "200 processes, two seconds: commands sent by each";
    report.ratio("commands_while_waiting", part, Spread::of(counts), Goal::AtMost(10.0));
    report
}

/// Each client has its own connections, as in another process.
async fn commands(world: &BenchSetup, key: &str) -> f64 {
    let holder = ours::client(&world.url).await;
    let guard = holder.write(key).acquire().await.expect("a lock");
    let mut clients = Vec::new();
    for _ in 0..PROCESSES {
        clients.push(ours::client(&world.url).await);
    }
    let commands = pin!(world.observer.commands_of_clients().await);
    let waiting: Vec<_> =
        clients.iter().map(|client| tokio::spawn(client.write(key).acquire())).collect();
    let count = count_for(WAIT, commands).await;
    assert!(waiting.iter().all(|task| !task.is_finished()), "a waiter got a held lock");
    for task in waiting {
        task.abort();
    }
    guard.release().await.expect("a release");
    for client in clients.iter().chain([&holder]) {
        client.shutdown(PATIENCE).await.expect("nothing is held");
    }
    count
}

async fn count_for(time: Duration, mut commands: impl Stream<Item = String> + Unpin) -> f64 {
    let (mut end, mut count) = (pin!(sleep(time)), 0.0);
    loop {
        select! {
            _ = commands.next() => count += 1.0,
            () = &mut end => return count,
        }
    }
}
