//! Callers that go while their first try is in the queue of the connection, or on its way.

use std::time::{Duration, Instant};

use futures_util::{FutureExt, future::BoxFuture, poll};
use lock_core::LockClient;
use lock_tests::{RedisServer, Wire, on_every_wire};
use tokio::task::JoinSet;

use crate::faults::{client, nothing_stays};

on_every_wire! {
    (flavor = "multi_thread", worker_threads = 4):
    dropped_within_the_first_moments_of_every_kind
}

/// Acquires a lock of a kind, and drops its guard.
type AcquireOnce = fn(&LockClient, String) -> BoxFuture<'static, ()>;

const KINDS: [AcquireOnce; 9] = [
    |client, key| client.reentrant(key).acquire().map(drop).boxed(),
    |client, key| client.non_reentrant(key).acquire().map(drop).boxed(),
    |client, key| client.fenced(key).acquire().map(drop).boxed(),
    |client, key| client.read(key).acquire().map(drop).boxed(),
    |client, key| client.write(key).acquire().map(drop).boxed(),
    |client, key| client.fair(key).acquire().map(drop).boxed(),
    |client, key| client.fair_read(key).acquire().map(drop).boxed(),
    |client, key| client.fair_write(key).acquire().map(drop).boxed(),
    |client, key| {
        client.semaphore(format!("permits:{key}"), 1).permit().acquire().map(drop).boxed()
    },
];

/// Each drop leaves an undo: on a busy machine Redis works on those of 600 rounds for half a minute.
const ROUNDS: u64 = 200;

/// A timer of the runtime has milliseconds; a try is in the queue for microseconds.
async fn dropped_after(moment: Duration, mut acquire: BoxFuture<'static, ()>) {
    let begun = Instant::now();
    while begun.elapsed() < moment && poll!(&mut acquire).is_pending() {
        tokio::task::yield_now().await;
    }
}

/// Each of 64 tasks drops acquisitions of a lock of its own.
async fn drop_many(client: &LockClient, kind: usize, acquire: AcquireOnce) {
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let client = client.clone();
        tasks.spawn(async move {
            for round in 0..ROUNDS {
                // All moments up to 400 us, in another order for each task.
                let moment = Duration::from_micros((task * 131 + round * 97) % 400);
                dropped_after(moment, acquire(&client, format!("{kind}:{task}"))).await;
            }
        });
    }
    tasks.join_all().await;
}

async fn dropped_within_the_first_moments_of_every_kind(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    for (kind, acquire) in KINDS.into_iter().enumerate() {
        drop_many(&client, kind, acquire).await;
        nothing_stays(&server, &[&client]).await;
    }
}
