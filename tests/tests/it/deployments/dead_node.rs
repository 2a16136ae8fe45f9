//! A node that is gone takes its own slots with it, and no others.

use std::time::Duration;

use futures_util::{FutureExt, future::join_all};
use lock_core::{AcquireError, InspectError, LeaseState, LostCause};
use lock_tests::{LIMIT, RedisCluster, Wire, bounded, eventually, on_every_wire, unless_stalled};

use crate::deployments::client;

on_every_wire! {
    a_node_that_died
    a_node_that_hangs
    what_it_held_keeps_no_other_release_waiting
    fail_fast_refuses_only_in_the_slots_of_a_dead_node
    a_list_without_a_node_is_incomplete_and_without_any_an_error
}

const LEASE: Duration = Duration::from_secs(3);

/// One key of each primary.
async fn keys(cluster: &RedisCluster) -> Vec<String> {
    let mut keys = vec![String::new(); RedisCluster::PRIMARIES];
    for number in 0..100 {
        let key = format!("k:{number}");
        let slot = cluster.slot(&format!("lock:{key}")).await;
        let at = (0..3).find(|at| RedisCluster::slots_of(*at).contains(&slot)).unwrap();
        keys[at] = key;
    }
    keys
}

/// The nodes go on without a part of the slots.
async fn partial() -> RedisCluster {
    let builder = RedisCluster::builder().args(["--cluster-require-full-coverage", "no"]);
    builder.start().await
}

async fn takes_no_other_with_it(wire: Wire, cluster: &RedisCluster, fail: impl FnOnce()) {
    let client = client(wire, &cluster.url()).await;
    let keys = keys(cluster).await;
    let mut guards = Vec::new();
    for key in &keys {
        guards.push(client.write(key.as_str()).lease(LEASE).acquire().await.unwrap());
    }
    fail();
    assert_eq!(bounded(LIMIT, guards[1].lost()).await.cause(), LostCause::Expired);
    // For a whole lease and more the others have been renewed beside it.
    assert_eq!(guards[0].state(), LeaseState::Renewed);
    assert_eq!(guards[2].state(), LeaseState::Renewed);
    tokio::time::sleep(LEASE).await;
    assert!(guards[0].is_held() && guards[2].is_held());
    let other = |at: usize| client.write(format!("other:{{lock:{}}}", keys[at]));
    drop(other(0).acquire().await.unwrap());
    let refused = other(1).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    let health = client.health().await;
    assert!(health.is_ready(), "there are locks to be had: {health:?}");
    let address = cluster.node(1).addr().to_string();
    let reported = health.warnings.iter().any(|it| it.contains(&address) || it.contains("slots"));
    assert!(reported, "{health:?}");
    drop(guards);
}

async fn a_node_that_died(wire: Wire) {
    unless_stalled(async || {
        let cluster = partial().await;
        takes_no_other_with_it(wire, &cluster, || cluster.node(1).kill()).await;
    })
    .await;
}

async fn a_node_that_hangs(wire: Wire) {
    unless_stalled(async || {
        let cluster = partial().await;
        takes_no_other_with_it(wire, &cluster, || cluster.node(1).pause()).await;
        cluster.node(1).resume();
        let client = client(wire, &cluster.url()).await;
        let key = keys(&cluster).await.swap_remove(1);
        eventually("it is back", LIMIT, async || {
            client.write(key.as_str()).acquire().await.is_ok()
        })
        .await;
    })
    .await;
}

async fn what_it_held_keeps_no_other_release_waiting(wire: Wire) {
    let cluster = partial().await;
    let client = client(wire, &cluster.url()).await;
    let keys = keys(&cluster).await;
    let on_it = (0..600).map(|number| format!("{number}:{{lock:{}}}", keys[1]));
    let held = join_all(on_it.map(|key| client.write(key).acquire())).await;
    let held: Vec<_> = held.into_iter().map(Result::unwrap).collect();
    let other = client.write(keys[0].as_str()).acquire().await.unwrap();
    cluster.node(1).pause();
    drop(held);
    bounded(LIMIT, other.release()).await.unwrap();
}

async fn fail_fast_refuses_only_in_the_slots_of_a_dead_node(wire: Wire) {
    let cluster = partial().await;
    let client = client(wire, &cluster.url()).await;
    let keys = keys(&cluster).await;
    // Without handoffs; otherwise a waiter would get the lock without the store.
    let ask =
        |at: usize| client.write(keys[at].as_str()).max_local_handoffs(0).fail_fast(true).acquire();
    for at in 0..keys.len() {
        drop(ask(at).await.unwrap());
    }
    let held = ask(1).await.unwrap();
    cluster.node(1).pause();
    // Its release is not answered, and the waiter behind it gets the reason.
    drop(held);
    let refused = ask(1).await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    assert!(matches!(ask(1).now_or_never(), Some(Err(AcquireError::Unavailable(_)))));
    for _ in 0..20 {
        drop((ask(0).await.unwrap(), ask(2).await.unwrap()));
    }
    let health = client.health().await;
    assert!(health.breaker_open && health.is_ready(), "{health:?}");
    cluster.node(1).resume();
    eventually("closed", LIMIT, async || !client.health().await.breaker_open).await;
    drop(ask(1).await.unwrap());
}

async fn a_list_without_a_node_is_incomplete_and_without_any_an_error(wire: Wire) {
    let cluster = partial().await;
    let client = client(wire, &cluster.url()).await;
    let keys = keys(&cluster).await;
    let held = join_all(keys.iter().map(|key| client.write(key.as_str()).acquire())).await;
    let held: Vec<_> = held.into_iter().map(Result::unwrap).collect();
    let all = client.list("k:", 10).await.unwrap();
    assert!(all.complete && all.keys.len() == keys.len(), "{all:?}");
    cluster.node(1).kill();
    let rest = client.list("k:", 10).await.unwrap();
    assert!(!rest.complete && rest.keys.len() == keys.len() - 1, "{rest:?}");
    cluster.node(0).kill();
    cluster.node(2).kill();
    let refused = client.list("k:", 10).await.unwrap_err();
    assert!(matches!(refused, InspectError::Unavailable(_)), "{refused}");
    drop(held);
}
