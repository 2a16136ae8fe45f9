//! Repeats one thing, so that what this process or Redis executes for it can be counted from outside:
//! by the tests in `figures` of `lock-tests`.
//!
//! ```text
//! repeat <client or redis: which is counted> <what> <tasks> <count> <host:port of Redis>
//! ```
#![allow(missing_docs, reason = "a program, not a library")]

mod cycles;
mod in_step;
mod requests;

use std::{env, sync::Arc, time::Duration};

use futures_util::future::join_all;
use lock_core::{LockClient, LockClientBuilder, LockGuard};
use lock_figures::{HandRolled, LEASE, RedissonsHash};
use tokio::{runtime::Builder, sync::Mutex, task::yield_now, time::sleep};

use self::{cycles::cycles, requests::requests};

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let [counted, what, tasks, count, server] = words.as_slice() else {
        panic!("repeat <client or redis> <what> <tasks> <count> <host:port>, not {words:?}");
    };
    let number = |word: &str| word.parse().expect("a number");
    let (tasks, count, url) = (number(tasks), number(count), format!("redis://{server}"));
    match counted.as_str() {
        "client" => in_step::runtime(server).block_on(in_client(what, tasks, count, &url)),
        "redis" => {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(in_redis(what, tasks, count, &url));
        }
        _ => panic!("{counted} is not counted"),
    }
}

async fn in_client(what: &str, tasks: usize, count: usize, url: &str) {
    match what {
        "request" => requests(requests::without_lock(), count).await,
        "request-by-hand" => {
            let locks = HandRolled::connect(url, false).await;
            requests(requests::by_hand(locks.clone()), count).await;
            locks.settled().await;
        }
        "request-under-layer" => {
            let client = client(url).await;
            requests(requests::under_the_layer(client.clone()), count).await;
            settled(&client).await;
        }
        "request-under-attribute" => {
            let client = client(url).await;
            requests(requests::under_the_attribute(client.clone()), count).await;
            settled(&client).await;
        }
        "by-hand" => {
            let locks = HandRolled::connect(url, false).await;
            by_hand(&locks, tasks, count).await;
            locks.settled().await;
        }
        "lock" => {
            let client = client(url).await;
            lock(&client, tasks, count, async |guard| drop(guard)).await;
            settled(&client).await;
        }
        "local-turns" => {
            let client = client(url).await;
            let lock = client.reentrant("hot");
            local_turns(tasks, count, move || lock.clone().acquire()).await;
            settled(&client).await;
        }
        "local-turns-of-mutex" => {
            let mutex = Arc::new(Mutex::new(()));
            local_turns(tasks, count, move || Arc::clone(&mutex).lock_owned()).await;
        }
        _ => panic!("nothing is called {what}"),
    }
}

/// Tasks of this process take turns: while one holds the lock, all others wait for it.
async fn local_turns<F>(
    tasks: usize,
    count: usize,
    acquire: impl Fn() -> F + Clone + Send + 'static,
) where
    F: Future<Output: Send> + Send + 'static,
{
    let take_turns = (0..tasks).map(|_| {
        let acquire = acquire.clone();
        tokio::spawn(async move {
            for _ in 0..count / tasks {
                let held = acquire().await;
                yield_now().await;
                drop(held);
            }
        })
    });
    for ended in join_all(take_turns.collect::<Vec<_>>()).await {
        ended.expect("a task that takes turns");
    }
}

/// Each release is awaited: otherwise it would depend on the speed of Redis whether it reads a release
/// together with the next acquisition.
async fn in_redis(what: &str, tasks: usize, count: usize, url: &str) {
    match what {
        "by-hand" => by_hand(&HandRolled::connect(url, true).await, tasks, count).await,
        "lock" => {
            let release = async |guard: LockGuard| guard.release().await.expect("a release");
            lock(&client(url).await, tasks, count, release).await;
        }
        "redissons-hash" => {
            let locks = RedissonsHash::connect(url, false, true).await;
            let acquire = |key: String| {
                let locks = locks.clone();
                async move { locks.take(&key).await }
            };
            cycles(tasks, count, acquire, async |held| locks.give_back(held).await).await;
        }
        "redissons-lock" => {
            let client = settings().redisson().connect(url).await.expect("a server");
            let release = async |guard: LockGuard| guard.release().await.expect("a release");
            lock(&client, tasks, count, release).await;
        }
        "turns" => turns(count, url).await,
        _ => panic!("nothing is called {what}"),
    }
}

async fn by_hand(locks: &HandRolled, tasks: usize, count: usize) {
    let acquire = |key: String| {
        let locks = locks.clone();
        async move { locks.take(&key).await }
    };
    cycles(tasks, count, acquire, async |held| locks.give_back(held).await).await;
}

async fn lock(client: &LockClient, tasks: usize, count: usize, release: impl AsyncFn(LockGuard)) {
    let acquire = |key: String| {
        let lock = client.reentrant(key);
        async move { lock.acquire().await.expect("a lock") }
    };
    cycles(tasks, count, acquire, release).await;
}

/// Two clients take turns with one lock, as two processes do.
async fn turns(count: usize, url: &str) {
    let take_turns = async |client: LockClient| {
        for _ in 0..count / 2 {
            drop(client.reentrant("turns").acquire().await.expect("a lock"));
        }
    };
    tokio::join!(take_turns(client(url).await), take_turns(client(url).await));
}

async fn client(url: &str) -> LockClient {
    settings().connect(url).await.expect("a server")
}

/// Default settings, except that the client waits longer: a busy machine answers late.
fn settings() -> LockClientBuilder {
    let patience = Duration::from_secs(300);
    let client = LockClient::builder().lease(10 * LEASE).wait(patience);
    client.command_timeout(patience).connect_timeout(patience)
}

async fn settled(client: &LockClient) {
    while client.health().await.holds > 0 {
        sleep(Duration::from_millis(1)).await;
    }
}
