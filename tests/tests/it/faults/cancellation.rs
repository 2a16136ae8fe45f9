//! Dropping a future, at any moment, leaves nothing locked.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use lock_core::Mode;
use lock_tests::{LIMIT, RedisServer, Wire, eventually, on_every_wire};

use crate::faults::{LONG, client, client_at, lock_keys, nothing_stays};

on_every_wire! {
    (flavor = "multi_thread", worker_threads = 2):
    two_thousand_dropped_acquisitions_over_a_link_that_is_cut
    dropped_after_every_poll
    connecting_dropped_after_every_poll_leaves_no_connection
    dropped_changes_of_mode_end_as_the_guard_shows
    guards_dropped_without_a_runtime_are_released
    a_panic_releases
    shutdown_releases_all_that_was_dropped
}

/// A small generator of the usual kind (xorshift): a test's moments need no better.
#[derive(Debug)]
struct Random(AtomicU64);

impl Random {
    fn below(&self, limit: u64) -> u64 {
        let step = |mut x: u64| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^ (x << 17)
        };
        let last = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |x| Some(step(x)));
        step(last.unwrap()) % limit
    }
}

async fn two_thousand_dropped_acquisitions_over_a_link_that_is_cut(wire: Wire) {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let url = server.url_through(&proxy);
    let client = client_at(wire, &url).await;
    let random = Arc::new(Random(AtomicU64::new(0x9e37_79b9_7f4a_7c15)));
    let mut granted = 0;
    for round in 0..40 {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let (client, random) = (client.clone(), Arc::clone(&random));
            tasks.spawn(async move {
                let mode = if random.below(2) == 0 { Mode::Read } else { Mode::Write };
                let key = format!("k:{}", random.below(20));
                let acquire = client.lock(mode, key).wait(LONG).acquire();
                let moment = Duration::from_micros(random.below(30_000));
                tokio::time::timeout(moment, acquire).await.is_ok_and(|granted| granted.is_ok())
            });
        }
        if round % 3 == 0 {
            tokio::time::sleep(Duration::from_micros(random.below(20_000))).await;
            proxy.cut().await;
        }
        granted += tasks.join_all().await.into_iter().filter(|granted| *granted).count();
    }
    println!("{granted} of 2,000 were granted before they were dropped");
    assert!(granted > 0, "some must get there, or nothing was tested");
    nothing_stays(&server, &[&client]).await;
    assert_eq!(client.health().await.waiting, 0);
}

async fn dropped_after_every_poll(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    for mode in [Mode::Read, Mode::Write] {
        for polls in 0..6 {
            let mut acquire = Box::pin(client.lock(mode, "k").acquire());
            for _ in 0..polls {
                let polled = futures_util::poll!(acquire.as_mut());
                if polled.is_ready() {
                    break;
                }
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            drop(acquire);
            nothing_stays(&server, &[&client]).await;
        }
    }
}

async fn connecting_dropped_after_every_poll_leaves_no_connection(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (url, before) = (server.url(), cli.client_list().await.len());
    for polls in 0.. {
        assert!(polls < 1_000, "without end");
        let mut connect = Box::pin(wire.builder().connect(&url));
        let mut connected = None;
        for _ in 0..polls {
            if let std::task::Poll::Ready(ready) = futures_util::poll!(connect.as_mut()) {
                connected = Some(ready.unwrap());
                break;
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        drop(connect);
        if let Some(client) = connected {
            client.shutdown(LONG).await.unwrap();
            return;
        }
        let gone = async || cli.client_list().await.len() == before;
        eventually("no connection left", LIMIT, gone).await;
    }
}

async fn dropped_changes_of_mode_end_as_the_guard_shows(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    for polls in 0..4 {
        for start in [Mode::Read, Mode::Write] {
            let mut guard = client.lock(start, "k").acquire().await.unwrap();
            {
                let mut change = Box::pin(async {
                    match start {
                        Mode::Read => guard.upgrade().await.map_err(|error| error.to_string()),
                        Mode::Write => guard.downgrade().await.map_err(|error| error.to_string()),
                    }
                });
                for _ in 0..polls {
                    if futures_util::poll!(change.as_mut()).is_ready() {
                        break;
                    }
                    tokio::time::sleep(Duration::from_micros(200)).await;
                }
            }
            let mode = guard.mode();
            eventually("Redis agrees with the guard", LIMIT, async || {
                client.inspect("k").await.unwrap().mode == Some(mode)
            })
            .await;
            assert!(guard.is_held());
            guard.release().await.unwrap();
        }
    }
    assert_eq!(lock_keys(&server).await, [""; 0]);
}

async fn guards_dropped_without_a_runtime_are_released(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    let guard = client.write("k").acquire().await.unwrap();
    std::thread::spawn(move || drop(guard)).join().unwrap();
    nothing_stays(&server, &[&client]).await;
}

async fn a_panic_releases(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    let panicking = tokio::spawn({
        let client = client.clone();
        async move {
            let _guard = client.write("k").acquire().await.unwrap();
            panic!("on purpose");
        }
    });
    assert!(panicking.await.unwrap_err().is_panic());
    nothing_stays(&server, &[&client]).await;
}

async fn shutdown_releases_all_that_was_dropped(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    for number in 0..500 {
        drop(client.write(format!("k:{number}")).acquire().await.unwrap());
    }
    client.shutdown(LONG).await.unwrap();
    assert_eq!(lock_keys(&server).await, [""; 0]);
    let keys = server.cli().await.keys().await;
    assert!(!keys.iter().any(|key| key.starts_with("lock_client:")), "the name is gone too");
}
