//! Keys of held locks that Redis evicts, or that an operator deletes.

use std::time::Duration;

use lock_core::{LeaseState, LostCause};
use lock_tests::{LIMIT, RedisServer, bounded, eventually, unless_stalled};

use crate::faults::{LONG, client};

#[tokio::test]
async fn a_read_without_its_own_key_is_lost_alone() {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let cli = server.cli().await;
        let (here, there) = (client(&server).await, client(&server).await);
        let lease = Duration::from_secs(3);
        // Two of one client on one key, each with a hold of its own, and one of another.
        let mut reads = Vec::new();
        for client in [&here, &here, &there] {
            reads
                .push(client.read("k").lease(lease).max_shared_readers(1).acquire().await.unwrap());
        }
        let keys = cli.keys().await;
        let own: Vec<_> = keys.iter().filter(|key| key.contains(":rwlock_timeout:")).collect();
        let client = |key: &str| key.split(':').nth(2).map(str::to_owned);
        let beside = |key: &str| own.iter().filter(|other| client(other) == client(key)).count();
        let evicted = own.iter().find(|key| beside(key) == 2).unwrap();
        assert!(cli.del(evicted).await);
        eventually("one of them is told", LIMIT, async || reads.iter().any(|read| !read.is_held()))
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

#[tokio::test]
async fn a_read_key_lost_while_others_left_is_reported() {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let cli = server.cli().await;
        let (here, there) = (client(&server).await, client(&server).await);
        let lease = Duration::from_secs(3);
        let read = here.read("k").lease(lease).acquire().await.unwrap();
        let keys = cli.keys().await;
        let own = keys.iter().find(|key| key.contains(":rwlock_timeout:")).unwrap();
        let beside = there.read("k").acquire().await.unwrap();
        assert!(cli.del(own).await);
        // Nothing in Redis shows any more that the first one lives.
        beside.release().await.unwrap();
        assert_eq!(bounded(LIMIT, read.lost()).await.cause(), LostCause::Refused);
        assert!(read.release().await.is_err());
    })
    .await;
}
