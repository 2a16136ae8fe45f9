//! A message is a hint: waiters get there without it.

use std::time::Duration;

use lock_core::{AcquireError, LockClient};
use lock_tests::{LIMIT, RedisServer, Wire, bounded, eventually, on_every_wire};

use crate::faults::{LONG, client};

on_every_wire! {
    a_missed_release_message_is_noticed
    channels_without_waiters_are_forgotten
    hundreds_of_keys_are_waited_for_over_one_connection
    waiters_that_may_not_listen_get_there_all_the_same
    a_channel_that_is_refused_ends_no_other_subscription
}

async fn a_missed_release_message_is_noticed(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(wire, &server).await, client(wire, &server).await);
    let guard = here.write("k").lease(LONG * 10).acquire().await.unwrap();
    let waiter = tokio::spawn(there.write("k").wait(LONG).acquire());
    eventually("the waiter listens", LIMIT, async || {
        cli.client_list().await.iter().any(|client| client.field("sub") == "1")
    })
    .await;
    // In one step: the subscribers are cut off, and the lock is released without a message.
    let _: redis::Value = cli.query(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
    cli.del("lock:k").await;
    drop(bounded(LIMIT, waiter).await.unwrap().unwrap());
    drop(guard);
}

async fn channels_without_waiters_are_forgotten(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(wire, &server).await, client(wire, &server).await);
    let channels = match wire {
        Wire::Native => "lock_wake:*",
        Wire::Redisson => "redisson_rwlock:*",
    };
    for number in 0..20 {
        let key = format!("k:{number}");
        let guard = here.write(&key).acquire().await.unwrap();
        let waiter = tokio::spawn(there.write(&key).wait(LONG).acquire());
        eventually("the waiter listens", LIMIT, async || {
            let channels: Vec<String> = cli.query(&["PUBSUB", "CHANNELS", channels]).await;
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

/// Redisson has room for 250 channels, and fails beyond them.
async fn hundreds_of_keys_are_waited_for_over_one_connection(wire: Wire) {
    const KEYS: usize = 400;
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(wire, &server).await, client(wire, &server).await);
    let (mut guards, mut waiters) = (Vec::new(), tokio::task::JoinSet::new());
    for number in 0..KEYS {
        let key = format!("k:{number}");
        guards.push(here.write(&key).lease(LONG * 10).acquire().await.unwrap());
        waiters.spawn(there.write(key).wait(LONG * 3).acquire());
    }
    eventually("all are listened for", LIMIT, async || {
        let listening: Vec<_> = cli.client_list().await;
        let listening: Vec<_> =
            listening.iter().map(|client| client.field("sub")).filter(|sub| *sub != "0").collect();
        listening == [KEYS.to_string()]
    })
    .await;
    for guard in guards {
        guard.release().await.unwrap();
    }
    for granted in bounded(LIMIT * 2, waiters.join_all()).await {
        granted.unwrap().release().await.unwrap();
    }
    eventually("no channel left", LIMIT, async || {
        cli.query::<Vec<String>>(&["PUBSUB", "CHANNELS", "*"]).await.is_empty()
    })
    .await;
}

/// Whether a waiter is known for the key `k`.
async fn waits(client: &LockClient) -> bool {
    !client.inspect("k").await.unwrap().waiters.is_empty()
}

/// Redisson waits for a message without a timer, and none comes.
#[tokio::test]
async fn a_holder_without_end_that_goes_silently_is_noticed() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let client = client(Wire::Redisson, &server).await;
    let _: u64 = cli.query(&["HSET", "lock:k", "mode", "write", "j:1:write", "1"]).await;
    let waiter = tokio::spawn(client.write("k").wait(LONG).acquire());
    eventually("it waits", LIMIT, async || waits(&client).await).await;
    assert_eq!(cli.pttl("lock:k").await, -1);
    assert!(cli.del("lock:k").await);
    bounded(LIMIT, waiter).await.unwrap().unwrap().release().await.unwrap();
}

/// Redisson gives up a lock for which it cannot listen.
async fn waiters_that_may_not_listen_get_there_all_the_same(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(wire, &server).await, client(wire, &server).await);
    let guard = here.write("k").lease(LONG * 10).acquire().await.unwrap();
    let deaf = ["ACL", "SETUSER", "default", "resetchannels"];
    let _: String = cli.query(&deaf).await;
    let waiter = tokio::spawn(there.write("k").wait(LONG).acquire());
    eventually("it waits", LIMIT, async || waits(&here).await).await;
    eventually("it may not listen", LIMIT, async || {
        let denied: redis::Value = cli.query(&["ACL", "LOG"]).await;
        format!("{denied:?}").contains("channel")
    })
    .await;
    cli.del("lock:k").await;
    drop(bounded(LIMIT, waiter).await.unwrap().unwrap());
    drop(guard);
}

/// A channel that may not be subscribed costs no other its messages: the connection stays.
async fn a_channel_that_is_refused_ends_no_other_subscription(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(wire, &server).await, client(wire, &server).await);
    let received = match wire {
        Wire::Native => "&lock_wake:{lock:received}:*",
        Wire::Redisson => "&redisson_rwlock:{lock:received}",
    };
    let only_one = ["ACL", "SETUSER", "default", "resetchannels", received];
    let _: String = cli.query(&only_one).await;
    let (received, deaf) = (here.write("received"), here.write("deaf"));
    let received = received.lease(LONG * 10).acquire().await.unwrap();
    let deaf = deaf.lease(LONG * 10).acquire().await.unwrap();
    let ear = async || {
        let clients = cli.client_list().await;
        let mut ears = clients.iter().filter(|client| client.field("sub") == "1");
        ears.next().map(|ear| ear.field("id").to_owned())
    };

    let listens = tokio::spawn(there.write("received").wait(LONG).acquire());
    eventually("one waiter listens", LIMIT, async || ear().await.is_some()).await;
    let connection = ear().await;
    // Longer than a connection lived that was refused a channel.
    let looks = there.write("deaf").wait(Duration::from_millis(2_500)).acquire().await;
    assert!(matches!(looks, Err(AcquireError::Busy(_))), "{looks:?}");
    let denied: redis::Value = cli.query(&["ACL", "LOG"]).await;
    assert!(format!("{denied:?}").contains("{lock:deaf}"), "{denied:?}");
    assert_eq!(ear().await, connection, "the subscriber's connection was replaced");
    received.release().await.unwrap();
    drop(bounded(LIMIT, listens).await.unwrap().unwrap());
    drop(deaf);
}
