//! Connections that are open on one side only.

use ::http::Method;
use lock_tests::{LIMIT, Proxy, RawHttp, Wire, eventually, on_every_wire};

use crate::http_faults::{asking::head, two_replicas::TwoReplicas};

on_every_wire! {
    a_closed_client_leaves_nothing_waiting_or_locked
    a_silently_vanished_client_is_served_and_releases
}

/// A client that has closed its side is one that has left: the server closes its side too.
async fn a_closed_client_leaves_nothing_waiting_or_locked(wire: Wire) {
    let world = TwoReplicas::new(wire).await;
    let mut inside = world.raw(0).await;
    inside.send(&head("/work/k/60000", 0)).await;
    world.inside("k", 1).await;
    let mut waiting = [world.raw(0).await, world.raw(0).await, world.raw(1).await];
    for raw in &mut waiting {
        raw.send(&head("/work/k/0", 0)).await;
    }
    eventually("they wait", LIMIT, async || world.waiting().await == 2).await;
    for raw in &mut waiting {
        raw.half_close().await;
        assert_eq!(raw.read_to_end().await, "", "it waits no more");
    }
    eventually("none waits", LIMIT, async || world.waiting().await == 0).await;
    inside.half_close().await;
    assert_eq!(inside.read_to_end().await, "");
    assert_eq!(world.ask(1, Method::POST, "/work/k/0").await, "done");
    world.ends_well(&["k"]).await;
}

/// A service cannot notice it: the request is served as usual, and the lock is released.
async fn a_silently_vanished_client_is_served_and_releases(wire: Wire) {
    let world = TwoReplicas::new(wire).await;
    let proxies = [
        Proxy::start(([127, 0, 0, 1], world.replicas[0].port).into()).await,
        Proxy::start(([127, 0, 0, 1], world.replicas[1].port).into()).await,
    ];
    let mut vanished = Vec::new();
    for proxy in &proxies {
        for _ in 0..5 {
            let mut raw = RawHttp::connect(proxy.addr()).await;
            raw.send(&head("/work/k/50", 0)).await;
            vanished.push(raw);
        }
    }
    world.inside("k", 1).await;
    for proxy in &proxies {
        proxy.black_hole(lock_tests::Direction::Both);
    }
    assert_eq!(world.ask(1, Method::POST, "/work/k/0").await, "done");
    world.ends_well(&["k"]).await;
    drop(vanished);
}
