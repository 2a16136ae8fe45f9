//! A Redis that hangs: connections stay open and get no answers.

use std::{sync::Arc, time::Duration};

use ::http::Method;
use lock_tests::{LIMIT, Wire, eventually, on_every_wire, unless_stalled};
use tokio::task::JoinSet;

use crate::http_faults::two_replicas::{TwoReplicas, ms};

on_every_wire! {
    (flavor = "multi_thread", worker_threads = 2):
    all_callers_fail_and_continue_when_redis_answers_again
    silences_under_load_admit_no_second_holder
}

const LEASE: Duration = ms(1_000);
const COMMAND_TIMEOUT: Duration = ms(500);

async fn all_callers_fail_and_continue_when_redis_answers_again(wire: Wire) {
    unless_stalled(async || {
        let world = Arc::new(TwoReplicas::with(wire, LEASE, COMMAND_TIMEOUT).await);
        let ask = |replica: usize, path: &'static str| {
            let world = Arc::clone(&world);
            async move { world.ask(replica, Method::POST, path).await }
        };
        for round in 0..2 {
            let holder = tokio::spawn(ask(0, "/work/k/60000"));
            world.inside("k", 1).await;
            let mut waiters = JoinSet::new();
            for number in 0..20 {
                waiters.spawn(ask(number % 2, "/work/k/0"));
            }
            eventually("they wait", LIMIT, async || world.waiting().await >= 18).await;

            world.redis.pause();
            // Every caller gets an error now, for every kind of request.
            let mut requested = JoinSet::new();
            for number in 0..20 {
                requested.spawn(ask(
                    number % 2,
                    if number < 10 { "/work/k/0" } else { "/work/other/0" },
                ));
            }
            for outcome in requested.join_all().await {
                assert_eq!(outcome, "lock-unavailable");
            }
            // The holder is notified by its own clock, and its handler has left the room by then.
            assert_eq!(holder.await.unwrap(), "lock-lost");
            assert_eq!(world.room.inside("k"), 0, "in round {round}");
            for outcome in waiters.join_all().await {
                assert!(["lock-unavailable", "lock-busy"].contains(&outcome), "{outcome}");
            }

            world.redis.resume();
            for replica in [0, 1] {
                eventually("everything goes on", LIMIT, async || {
                    ask(replica, "/work/k/0").await == "done"
                })
                .await;
            }
        }
        world.ends_well(&["k", "other"]).await;
    })
    .await;
}

/// It hangs now and then for a moment, under load.
async fn silences_under_load_admit_no_second_holder(wire: Wire) {
    let world = Arc::new(TwoReplicas::with(wire, LEASE, COMMAND_TIMEOUT).await);
    let mut clients = JoinSet::new();
    for number in 0..12_u64 {
        let world = Arc::clone(&world);
        clients.spawn(async move {
            let mut outcomes = Vec::new();
            for turn in 0..40 {
                let method = if (number + turn) % 4 == 0 { Method::GET } else { Method::POST };
                let path = format!("/work/{}/3", ["k", "other"][(turn % 2) as usize]);
                outcomes.push(world.ask((number % 2) as usize, method, &path).await);
            }
            outcomes
        });
    }
    for length in [100, 700, 1_300] {
        tokio::time::sleep(ms(150)).await;
        world.redis.pause();
        tokio::time::sleep(ms(length)).await;
        world.redis.resume();
    }
    let outcomes = clients.join_all().await.concat();
    let count = |name: &str| outcomes.iter().filter(|outcome| **outcome == name).count();
    let (done, refused) = (count("done"), outcomes.len() - count("done"));
    println!("{done} served, {refused} refused, of them {} unavailable", count("lock-unavailable"));
    assert!(done > 0 && refused > 0, "{outcomes:?}");
    world.ends_well(&["k", "other"]).await;
}
