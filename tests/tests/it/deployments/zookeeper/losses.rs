//! A holder that reaches no server loses its locks, and is reported before another is granted them.

use std::time::Duration;

use futures_util::future::join_all;
use lock_core::{LockClient, LockEvent, LockGuard};
use lock_tests::{
    Direction, LIMIT, Stopwatch, ZooKeeperEnsemble, ZooKeeperServer, bounded, eventually,
    unless_stalled,
};
use tokio::sync::mpsc;

use crate::deployments::zookeeper::{client, client_of};

const LEASE: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(60);

/// The session of a client with this lease, which the ensemble ends no earlier.
const SESSION: Duration = Duration::from_millis(3_333);

async fn three_locks(client: &LockClient) -> [LockGuard; 3] {
    [
        client.reentrant("mutex").acquire().await.unwrap(),
        client.write("write").acquire().await.unwrap(),
        client.read("read").acquire().await.unwrap(),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_behind_a_silent_link_has_lost_its_locks_when_another_gets_them() {
    for silent in [Direction::Both, Direction::ToServer, Direction::ToClient] {
        unless_stalled(async || another_gets_them_behind(silent).await).await;
    }
}

async fn another_gets_them_behind(silent: Direction) {
    let server = ZooKeeperServer::start().await;
    let proxy = server.proxy().await;
    let (events, mut reconnected) = mpsc::unbounded_channel();
    let observer = move |event: LockEvent<'_>| {
        if let LockEvent::Reconnected(event) = event {
            let _ = events.send(event.down_for);
        }
    };
    let builder = LockClient::builder().observer(observer);
    let holder = client_of(builder, &server.url_through(&proxy), LEASE).await;
    let other = client(&server.url(), LEASE).await;
    let guards = three_locks(&holder).await;
    let next = ["mutex", "write", "read"].map(|key| match key {
        "mutex" => other.reentrant(key),
        _ => other.write(key),
    });
    let next = next.map(|lock| tokio::spawn(lock.wait(LONG).acquire()));
    proxy.black_hole(silent);
    for (guard, next) in guards.into_iter().zip(next) {
        let granted = bounded(LONG, next).await.unwrap().unwrap();
        assert!(!guard.is_held(), "{silent:?}: two believe in \"{}\"", guard.key());
        bounded(LIMIT, guard.lost()).await;
        granted.release().await.unwrap();
    }
    // The client gets a new session by itself, and what began in the old one begins again.
    proxy.pass();
    bounded(LONG, reconnected.recv()).await.expect("the observer receives it");
    holder.write("again").wait(LONG).acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_majority_every_holder_is_told_before_its_session_ends() {
    unless_stalled(every_holder_is_told_without_a_majority).await;
}

async fn every_holder_is_told_without_a_majority() {
    let mut ensemble = ZooKeeperEnsemble::start().await;
    let url = ensemble.url();
    let clients = join_all((0..3).map(|_| client(&url, LEASE))).await;
    let mut guards = Vec::new();
    for (number, client) in clients.iter().enumerate() {
        guards.push(client.reentrant(format!("mutex:{number}")).acquire().await.unwrap());
        guards.push(client.read("shared").acquire().await.unwrap());
    }
    // Nothing that is sent from here on is confirmed, so every belief ends within the lease.
    let leader = ensemble.leader().await;
    let killed = [leader, (leader + 1) % ZooKeeperEnsemble::MEMBERS];
    for at in killed {
        ensemble.member(at).kill();
    }
    let since = Stopwatch::start();
    since.within(SESSION, join_all(guards.iter().map(LockGuard::lost))).await;
    assert!(guards.iter().all(|guard| !guard.is_held()));

    for at in killed {
        ensemble.member_mut(at).start_again().await;
    }
    ensemble.leader().await;
    let znodes = ensemble.znodes().await;
    eventually("the ends of the sessions", LONG, async || {
        znodes.ephemerals("/lock").await.is_empty()
    })
    .await;
    for client in &clients {
        let again = client.write("shared").wait(LONG).acquire().await.unwrap();
        again.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_an_operator_deletes_is_a_loss() {
    let server = ZooKeeperServer::start().await;
    let holder = client(&server.url(), LEASE).await;
    let guards = three_locks(&holder).await;
    let znodes = server.znodes().await;
    for path in znodes.ephemerals("/lock").await {
        assert!(znodes.delete(&path).await);
    }
    for guard in guards {
        bounded(LIMIT, guard.lost()).await;
    }
    // The session goes on.
    let again = holder.write("write").acquire().await.unwrap();
    assert!(again.is_held());
}

/// Far more than a confirmation takes, and far less than the time until the next one.
const AT_ONCE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_long_holder_learns_at_once_that_its_lock_was_taken() {
    unless_stalled(async || {
        let server = ZooKeeperServer::start().await;
        // Confirmed every eight seconds.
        let holder = client(&server.url(), AT_ONCE * 24 / 5).await;
        let operator = client(&server.url(), LEASE).await;
        let guard = holder.write("k").acquire().await.unwrap();
        let lost = tokio::spawn(guard.lost());
        let is_long = async || operator.inspect("k").await.unwrap().holders[0].work.is_some();
        eventually("it is written down and watched", LIMIT, is_long).await;
        assert!(operator.force_release("k").await.unwrap().was_held);
        bounded(AT_ONCE, lost).await.unwrap();
        operator.write("k").acquire().await.unwrap().release().await.unwrap();
    })
    .await;
}
