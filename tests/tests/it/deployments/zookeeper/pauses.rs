//! A process that stands still, and goes on before its session has ended.

use std::time::Duration;

use lock_core::LockClient;
use lock_tests::{
    LIMIT, Process, ZooKeeperServer, bounded, connected, eventually, in_memory_directory,
};
use tokio::time::sleep;

/// Threads of the process that stands still, each with a key of its own.
const THREADS: u32 = 8;

/// A session of five seconds, so that commands have 1.5. If a pause were taken for silence, each thread would be
/// refused, and end.
#[tokio::test]
async fn after_a_pause_of_the_process_acquisitions_go_on() {
    let server = ZooKeeperServer::start().await;
    let counters = in_memory_directory();
    let process = Process::builder(env!("CARGO_BIN_EXE_peer"))
        .env("LOCK_URL", server.url())
        .env("LEASE_MS", "3000")
        .env("COMMAND_TIMEOUT_MS", "1500")
        .hears()
        .start();
    process.line("ready", LIMIT).await;
    for thread in 0..THREADS {
        let counter = counters.path().join(thread.to_string());
        std::fs::write(&counter, "0").unwrap();
        let counter = counter.display();
        process.say(&format!("{thread} t{thread} crowd write k{thread} {counter} 1000000"));
    }
    let turns = || {
        let counters = (0..THREADS).map(|thread| counters.path().join(thread.to_string()));
        // A counter that is just written is empty.
        let counted = counters.map(|path| std::fs::read_to_string(path).unwrap());
        counted.map(|count| count.parse().unwrap_or(0)).sum::<u64>()
    };
    eventually("turns", LIMIT, async || turns() > 50).await;
    process.pause();
    sleep(Duration::from_secs(2)).await;
    let before = turns();
    process.resume();
    eventually("turns after the pause", LIMIT, async || turns() > before + 50).await;
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
