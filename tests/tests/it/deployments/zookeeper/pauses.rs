//! A process that stands still, and goes on before its session has ended.

use std::time::Duration;

use lock_core::{AcquireError, LockClient};
use lock_tests::{LIMIT, ZooKeeperServer, bounded, connected, eventually};
use tokio::{sync::watch, task::JoinSet, time::sleep};

/// A session of five seconds.
const LEASE: Duration = Duration::from_secs(3);

/// On a runtime of one thread, which a blocked thread stops with all its timers and connections.
#[tokio::test]
async fn after_a_pause_of_the_process_no_request_is_refused() {
    let server = ZooKeeperServer::start().await;
    let builder = LockClient::builder().lease(LEASE).connect_timeout(LIMIT);
    let client = connected(builder, &server.url()).await;
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    for task in 0..20 {
        let (client, stopped) = (client.clone(), stopped.clone());
        tasks.spawn(async move {
            let mut refused: Vec<AcquireError> = Vec::new();
            while !*stopped.borrow() {
                // Some wait for each other, some in the ensemble, and of some commands are under way.
                match client.write(format!("k:{}", task % 8)).wait(LIMIT).acquire().await {
                    Ok(guard) => {
                        sleep(Duration::from_millis(5)).await;
                        drop(guard);
                    }
                    Err(why) => refused.push(why),
                }
            }
            refused
        });
    }
    sleep(Duration::from_millis(300)).await;
    std::thread::sleep(Duration::from_secs(2));
    sleep(Duration::from_millis(500)).await;
    stop.send_replace(true);
    let refused = bounded(LIMIT, tasks.join_all()).await;
    let refused: Vec<_> = refused.into_iter().flatten().collect();
    assert!(refused.is_empty(), "{refused:?}");
}

/// Its place in the line has gone with its session, and those behind it may have been granted the lock.
#[tokio::test]
async fn a_waiter_whose_session_has_ended_stands_in_line_in_the_next() {
    let server = ZooKeeperServer::builder().tick(Duration::from_millis(400)).start().await;
    // A session of one second.
    let builder = LockClient::builder().lease(Duration::from_millis(600)).connect_timeout(LIMIT);
    let client = connected(builder, &server.url()).await;
    let znodes = server.znodes().await;
    znodes.create("/lock/k", "").await;
    znodes.create_ephemeral_sequential("/lock/k/_c_0-lock-").await;
    let waiting = tokio::spawn(client.reentrant("k").wait(2 * LIMIT).acquire());
    let mut before = Vec::new();
    let stands = async || {
        before = znodes.children("/lock/k").await;
        before.len() == 2
    };
    eventually("a place in the line", LIMIT, stands).await;
    std::thread::sleep(Duration::from_millis(2_500));
    let stands_again = async || {
        let children = znodes.children("/lock/k").await;
        children.len() == 2 && children != before
    };
    eventually("a place of another session", LIMIT, stands_again).await;
    assert!(!waiting.is_finished());
    assert!(znodes.delete("/lock/k/_c_0-lock-0000000000").await);
    bounded(LIMIT, waiting).await.unwrap().unwrap().release().await.unwrap();
}
