//! First come first served, across processes.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use std::time::{Duration, Instant};

use lock_core::{Acquire, AcquireError, LockClient};
use lock_tests::{RedisServer, Stopwatch, bounded, eventually};

use crate::crowds::crowd::{Crowd, LONG};

/// For so long a waiter that says nothing keeps its place.
const PLACE: Duration = Duration::from_secs(3);
/// For a message to another process and its try.
const A_MOMENT: Duration = Duration::from_millis(500);

const QUEUE: &str = "redisson_lock_queue:{lock:k}";
const DEADLINES: &str = "redisson_lock_timeout:{lock:k}";
const LINE: &str = "lock_waiters:{lock:k}";

/// A hundred waiters of ten processes, each known to stand in line before the next one asks.
async fn in_order_of_arrival(kind: &str, line: &str, count: &str, at_first: usize) {
    let crowd = Crowd::start(10).await;
    let holder = &crowd.members[0];
    holder.say(&format!("hold {kind} k"));
    holder.line("held", LONG).await;
    let mut arrived = Vec::new();
    for waiter in 0..100 {
        let name = format!("w{waiter}");
        crowd.members[waiter % 10].say(&format!("turn {kind} k log {name}"));
        eventually("it stands in line", LONG, async || {
            let length: usize = crowd.cli.query(&[count, line]).await;
            length == at_first + waiter + 1
        })
        .await;
        arrived.push(name);
    }
    holder.say("release");
    for (waiter, name) in arrived.iter().enumerate() {
        crowd.members[waiter % 10].line(&format!("turned {name}"), LONG).await;
    }
    assert_eq!(crowd.log("log").await, arrived);
    assert!(!crowd.cli.exists(line).await, "nobody stands in line any more");
}

#[tokio::test]
async fn a_hundred_waiters_of_ten_processes_are_served_in_order_of_arrival() {
    in_order_of_arrival("fair", QUEUE, "LLEN", 0).await;
}

#[tokio::test]
async fn so_are_those_of_a_fair_read_write_lock() {
    // The line has an entry that says what it is.
    in_order_of_arrival("fair_read_write", LINE, "ZCARD", 1).await;
}

#[tokio::test]
async fn a_dead_head_costs_the_next_its_place_in_line_and_not_redissons_five_minutes() {
    let crowd = Crowd::start(3).await;
    let [holder, dead, next] = crowd.members.as_slice() else { panic!("three") };
    holder.say("hold fair k");
    holder.line("held", LONG).await;
    for (member, place) in [(dead, 1), (next, 2)] {
        member.say("turn fair k log it");
        eventually("it stands in line", LONG, async || {
            let length: i64 = crowd.cli.query(&["LLEN", QUEUE]).await;
            length == place
        })
        .await;
    }
    let head: Vec<String> = crowd.cli.query(&["LRANGE", QUEUE, "0", "0"]).await;
    let deadline: f64 = crowd.cli.query(&["ZSCORE", DEADLINES, &head[0]]).await;
    dead.kill();
    let died = Stopwatch::start();
    holder.say("release");
    died.within(PLACE + A_MOMENT, next.line("turned it", LONG)).await;
    let now: Vec<f64> = crowd.cli.query(&["TIME"]).await;
    assert!(deadline > now[0] * 1000.0, "by Redisson's deadline the dead one stood in line still");
}

/// Three clients with 18 tasks each on one key, most of which give up after 0 to 100 ms: the lock goes
/// round, and no task is refused as overloaded, since far fewer wait than may.
async fn goes_round_though_waiters_leave(
    ask: impl Fn(&LockClient) -> Acquire + Copy + Send + 'static,
) {
    const GRANTS: usize = 2_000;
    let server = RedisServer::start().await;
    let grants = Arc::new(AtomicUsize::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let client = LockClient::connect(&server.url()).await.unwrap();
        for task in 0..18_u64 {
            let (client, grants) = (client.clone(), Arc::clone(&grants));
            tasks.spawn(async move {
                for turn in 0.. {
                    if grants.load(Ordering::Relaxed) >= GRANTS {
                        return;
                    }
                    // One of each client is patient.
                    let wait = if task == 0 {
                        LONG
                    } else {
                        Duration::from_millis((task * 37 + turn * 61) % 100)
                    };
                    match ask(&client).wait(wait).acquire().await {
                        Ok(_guard) => _ = grants.fetch_add(1, Ordering::Relaxed),
                        // Its last try may be under way when its wait is over.
                        Err(AcquireError::Busy(_) | AcquireError::Unavailable(_)) => {
                            tokio::task::yield_now().await;
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        }
    }
    let started = Instant::now();
    let all = async {
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
    };
    bounded(LONG, all).await;
    println!("{GRANTS} grants in {:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fair_lock_goes_round_though_waiters_leave() {
    goes_round_though_waiters_leave(|client| client.fair("k")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_does_a_fair_read_write_lock() {
    goes_round_though_waiters_leave(|client| client.fair_write("k")).await;
}
