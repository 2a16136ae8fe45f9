//! All names of one lock share a slot, and we know which.

use lock_tests::{LIMIT, RedisCluster, Wire, bounded, eventually, on_every_wire};

use crate::deployments::{LONG, client, refusals};

on_every_wire! {
    no_command_is_redirected
    redis_agrees_that_they_share_a_slot
}

/// Plain ones, ones with a hash tag, and ones that only look like it.
const KEYS: &[&str] = &[
    "a",
    "order:42",
    "order:{42}",
    "{x}:y",
    "a:{b c}:d",
    "ключ",
    "{ключ}:1",
    "a,b",
    "%7B",
    "0",
    "x:{a:b:c}:y:z",
    "very/long/path?with=query&and=more",
];

async fn no_command_is_redirected(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let client = client(wire, &cluster.url()).await;
    for key in KEYS {
        let mut guard = client.read(*key).acquire().await.unwrap();
        guard.upgrade().await.unwrap();
        guard.downgrade().await.unwrap();
        guard.release().await.unwrap();
        drop(client.write(*key).acquire().await.unwrap());
    }
    eventually("released", LIMIT, async || client.health().await.holds == 0).await;
    for node in 0..RedisCluster::PRIMARIES {
        let cli = cluster.cli(node).await;
        assert_eq!(refusals(&cli, "MOVED").await, 0);
        assert_eq!(refusals(&cli, "CROSSSLOT").await, 0);
    }
}

async fn redis_agrees_that_they_share_a_slot(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let (here, there) = (client(wire, &cluster.url()).await, client(wire, &cluster.url()).await);
    let third = client(wire, &cluster.url()).await;
    for key in KEYS {
        // A reader, with its own key on Redisson's wire, and the place of a writer that waits.
        let reader = here.read(*key).acquire().await.unwrap();
        // Beside two readers the line of the native wire is in separate keys.
        let other = third.read(*key).acquire().await.unwrap();
        let waiter = tokio::spawn(there.write(*key).wait(LONG).acquire());
        let (place, least) = match wire {
            Wire::Native => ("lock_places:", 3),
            Wire::Redisson => ("lock_waiters:", 4),
        };
        eventually("the place is there", LIMIT, async || {
            cluster.keys().await.iter().any(|name| name.starts_with(place))
        })
        .await;
        let names = cluster.keys().await;
        let names = names.iter().filter(|name| !name.starts_with("lock_client:"));
        let names: Vec<_> = names.filter(|name| name.contains(&format!("lock:{key}"))).collect();
        assert!(names.len() >= least, "{names:?}");
        let slot = cluster.slot(&format!("lock:{key}")).await;
        for name in names {
            assert_eq!(cluster.slot(name).await, slot, "{name}");
        }
        reader.release().await.unwrap();
        other.release().await.unwrap();
        bounded(LIMIT, waiter).await.unwrap().unwrap().release().await.unwrap();
    }
}
