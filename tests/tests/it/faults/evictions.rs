//! What shows one read of a lock in Redis is evicted, or deleted by an operator.

use std::time::Duration;

use lock_core::{LeaseState, LockClient, LostCause};
use lock_tests::{
    Cli, LIMIT, RedisServer, Wire, bounded, eventually, on_every_wire, unless_stalled,
};

use crate::faults::{LONG, client};

on_every_wire! {
    a_read_without_its_own_key_is_lost_alone
    a_read_key_lost_while_others_left_is_reported
}

/// The owners of the reads of the key `k`.
async fn owners(client: &LockClient) -> Vec<String> {
    let holders = client.inspect("k").await.unwrap().holders;
    holders.into_iter().map(|holder| holder.owner).collect()
}

/// Removes what shows that this owner reads: its member among the readers, or its own key.
async fn evict(wire: Wire, cli: &Cli, owner: &str) {
    match wire {
        Wire::Native => assert_eq!(cli.query::<u64>(&["ZREM", "lock:k", owner]).await, 1),
        Wire::Redisson => {
            let keys = cli.keys().await;
            let own = keys.iter().find(|key| key.contains(&format!(":{owner}:rwlock_timeout:")));
            assert!(cli.del(own.unwrap()).await);
        }
    }
}

async fn a_read_without_its_own_key_is_lost_alone(wire: Wire) {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let cli = server.cli().await;
        let (here, there) = (client(wire, &server).await, client(wire, &server).await);
        let lease = Duration::from_secs(3);
        // Two of one client on one key, each with a hold of its own, and one of another.
        let mut reads = Vec::new();
        for client in [&here, &here, &there] {
            reads
                .push(client.read("k").lease(lease).max_shared_readers(1).acquire().await.unwrap());
        }
        let owners = owners(&here).await;
        let client = |owner: &str| owner.split(':').next().map(str::to_owned);
        let beside = |owner: &str| owners.iter().filter(|one| client(one) == client(owner)).count();
        let evicted = owners.iter().find(|owner| beside(owner) == 2).unwrap();
        evict(wire, &cli, evicted).await;
        eventually("one of them is reported", LIMIT, async || {
            reads.iter().any(|read| !read.is_held())
        })
        .await;
        assert!(reads[2].is_held(), "the other client's");
        let (kept, lost): (Vec<_>, Vec<_>) = reads.into_iter().partition(|read| read.is_held());
        assert_eq!((kept.len(), lost.len()), (2, 1));
        assert_eq!(bounded(LIMIT, lost[0].lost()).await.cause(), LostCause::Refused);
        assert!(lost.into_iter().next().unwrap().release().await.is_err());
        tokio::time::sleep(lease).await;
        for read in &kept {
            assert!(read.is_held());
            assert_eq!(read.state(), LeaseState::Renewed);
        }
        let writer = there.write("k").try_acquire().await;
        assert!(writer.is_err(), "the others still read");
        for read in kept {
            read.release().await.unwrap();
        }
        there.write("k").wait(LONG).acquire().await.unwrap().release().await.unwrap();
    })
    .await;
}

async fn a_read_key_lost_while_others_left_is_reported(wire: Wire) {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let cli = server.cli().await;
        let (here, there) = (client(wire, &server).await, client(wire, &server).await);
        let lease = Duration::from_secs(3);
        let read = here.read("k").lease(lease).acquire().await.unwrap();
        let own = owners(&here).await;
        let beside = there.read("k").acquire().await.unwrap();
        evict(wire, &cli, &own[0]).await;
        // Nothing in Redis shows any more that the first one lives.
        beside.release().await.unwrap();
        assert_eq!(bounded(LIMIT, read.lost()).await.cause(), LostCause::Refused);
        assert!(read.release().await.is_err());
    })
    .await;
}
