//! A message is a hint: waiters get there without it.

use lock_tests::{LIMIT, RedisServer, bounded, eventually};

use crate::{LONG, client};

#[tokio::test]
async fn a_release_told_while_nobody_could_hear_is_noticed() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(&server).await, client(&server).await);
    let guard = here.write("k").lease(LONG * 10).acquire().await.unwrap();
    let waiter = tokio::spawn(there.write("k").wait(LONG).acquire());
    eventually("the waiter listens", LIMIT, async || {
        cli.client_list().await.iter().any(|client| client.field("sub") == "1")
    })
    .await;
    // In one step: the subscribers are cut off, the lock is released by a hand that tells nobody.
    let _: redis::Value = cli.query(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
    cli.del("lock:k").await;
    drop(bounded(LIMIT, waiter).await.unwrap().unwrap());
    drop(guard);
}

#[tokio::test]
async fn channels_are_forgotten_when_nobody_waits() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(&server).await, client(&server).await);
    for number in 0..20 {
        let key = format!("k:{number}");
        let guard = here.write(&key).acquire().await.unwrap();
        let waiter = tokio::spawn(there.write(&key).wait(LONG).acquire());
        eventually("the waiter listens", LIMIT, async || {
            let channels: Vec<String> =
                cli.query(&["PUBSUB", "CHANNELS", "redisson_rwlock:*"]).await;
            channels.len() == number + 1
        })
        .await;
        drop(guard);
        drop(bounded(LIMIT, waiter).await.unwrap().unwrap());
    }
    eventually("no channel left", LIMIT, async || {
        cli.query::<Vec<String>>(&["PUBSUB", "CHANNELS", "*"]).await.is_empty()
    })
    .await;
}
