//! A process on ZooKeeper that stood still, and whose server fails as soon as it goes on.

use std::time::Duration;

use lock_core::LockClient;
use lock_tests::{LIMIT, Process, ZooKeeperEnsemble, ZooKeeperServer};
use tokio::time::sleep;

/// Of a session of two seconds: four ticks.
const LEASE: Duration = Duration::from_millis(1_200);
const TICK: Duration = Duration::from_millis(500);
/// Less than the session's timeout, so that the process still has it.
const STANDS_STILL: Duration = Duration::from_millis(1_400);

/// The leader learns from a follower every half tick that a session lives. When the follower is cut off
/// before, the session ends, as counted from what the process sent before it stood still.
#[tokio::test]
async fn a_lock_of_a_process_that_stood_still_is_not_granted_to_another_while_it_is_relied_upon() {
    let ensemble = ZooKeeperEnsemble::start_with(ZooKeeperServer::builder().tick(TICK)).await;
    let (leader, follower) = (ensemble.leader().await, ensemble.followers().await[0]);
    let other = LockClient::builder().lease(Duration::from_secs(20)).command_timeout(LIMIT);
    let other = other.connect(&ensemble.member(leader).url()).await.unwrap();
    for turn in 0..5 {
        let peer = Process::builder(env!("CARGO_BIN_EXE_peer"))
            .env("LOCK_URL", ensemble.member(follower).url())
            .env("LEASE_MS", LEASE.as_millis().to_string())
            .hears()
            .start();
        peer.line("ready", 2 * LIMIT).await;
        let key = format!("key-{turn}");
        let busy = format!("busy-{turn}");
        let held = other.write(busy.as_str()).acquire().await.unwrap();
        peer.say(&format!("0 waiter acquire write {busy} 30000 0"));
        sleep(Duration::from_millis(400)).await;
        peer.pause();
        // What arrives meanwhile is read first: the connection seems alive.
        held.release().await.unwrap();
        peer.say(&format!("1 main acquire write {key} 0 0"));
        sleep(STANDS_STILL).await;
        peer.resume();
        peer.line("#1 held", LIMIT).await;
        ensemble.cut_off(follower);
        let held = other.write(key.as_str()).wait(LIMIT).acquire().await.unwrap();
        peer.say(&format!("2 main held write {key}"));
        peer.line("#2 false", LIMIT).await;
        held.release().await.unwrap();
        ensemble.connect(follower);
        peer.kill();
        lock_tests::eventually("the follower to follow again", 2 * LIMIT, async || {
            ensemble.followers().await.contains(&follower)
        })
        .await;
    }
}
