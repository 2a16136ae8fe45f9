//! Connections that end and are back in a moment, and a store that is away for longer: what waits
//! goes on waiting.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use lock_core::{AcquireError, FencingToken, LockClient, LockEvent};
use lock_tests::{
    LIMIT, RedisServer, Stopwatch, Wire, bounded, connected, eventually, on_every_wire,
    unless_stalled,
};
use tokio::{
    sync::{Mutex, mpsc},
    task::JoinSet,
};

use crate::faults::{LONG, NEVER, REFUSED, client, nothing_stays};

on_every_wire! {
    (flavor = "multi_thread"):
    an_observer_receives_every_replaced_connection
    connections_that_are_killed_ten_times_a_second_cost_no_waiter
    waiters_wait_on_while_redis_hangs_and_are_refused_when_their_wait_ends
    waiters_wait_on_until_redis_is_started_again
}

const COMMAND_TIMEOUT: Duration = Duration::from_millis(500);
const TENTH: Duration = Duration::from_millis(100);

/// Ends all connections except the one of this test, ten times a second for five seconds.
async fn kill_connections(server: &RedisServer) {
    let cli = server.cli().await;
    for _ in 0..50 {
        let _: i64 = cli.query(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
        tokio::time::sleep(TENTH).await;
    }
}

/// Acquires one lock again and again until the store is calm, and once more.
async fn acquire_in_turn(
    client: LockClient,
    last: Arc<Mutex<FencingToken>>,
    calm: Arc<AtomicBool>,
) {
    loop {
        let is_last = calm.load(Ordering::Acquire);
        let guard = client.write("k").wait(LONG).acquire().await.expect("a blip costs no caller");
        let mut last = last.try_lock().expect("one holder at a time");
        assert!(guard.fencing_token() > *last, "tokens grow");
        *last = guard.fencing_token();
        tokio::time::sleep(Duration::from_millis(1)).await;
        drop(last);
        drop(guard);
        if is_last {
            return;
        }
    }
}

async fn an_observer_receives_every_replaced_connection(wire: Wire) {
    let server = RedisServer::start().await;
    let (events, mut received) = mpsc::unbounded_channel();
    let observer = move |event: LockEvent<'_>| {
        if let LockEvent::Reconnected(event) = event {
            let _ = events.send(event.down_for);
        }
    };
    let client = wire.builder().observer(observer).connect(&server.url()).await.unwrap();
    drop(client.write("k").acquire().await.unwrap());
    let cli = server.cli().await;
    for _ in 0..2 {
        assert!(received.try_recv().is_err(), "no connection was replaced");
        let _: i64 = cli.query(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
        bounded(LIMIT, received.recv()).await.expect("it is replaced");
        let granted = client.write("k").wait(LONG).acquire().await;
        drop(granted.expect("it is reported when it can be used"));
    }
    nothing_stays(&server, &[&client]).await;
}

async fn connections_that_are_killed_ten_times_a_second_cost_no_waiter(wire: Wire) {
    let server = RedisServer::start().await;
    // A busy machine may need longer for a new connection than passes between two kills.
    let connect =
        async || wire.builder().command_timeout(LIMIT).connect(&server.url()).await.unwrap();
    let clients = [connect().await, connect().await];
    let first = clients[0].write("k").acquire().await.unwrap();
    let last = Arc::new(Mutex::new(first.fencing_token()));
    let calm = Arc::new(AtomicBool::new(false));
    let mut callers = JoinSet::new();
    for at in 0..200 {
        let client = clients[at % 2].clone();
        callers.spawn(acquire_in_turn(client, Arc::clone(&last), Arc::clone(&calm)));
    }
    drop(first);
    kill_connections(&server).await;
    calm.store(true, Ordering::Release);
    callers.join_all().await;
    nothing_stays(&server, &[&clients[0], &clients[1]]).await;
}

/// Requests that wait for up to `wait` each; returns when `queued` requests queue in the process, and
/// all of them are older than a command timeout: younger ones are refused like new ones.
async fn waiting(
    client: &LockClient,
    requests: usize,
    wait: Duration,
    queued: usize,
) -> JoinSet<Result<(), AcquireError>> {
    let mut waiting = JoinSet::new();
    for _ in 0..requests {
        let acquired = client.write("k").wait(wait).fail_fast(true).acquire();
        waiting.spawn(async { acquired.await.map(drop) });
    }
    eventually("all wait", LIMIT, async || client.health().await.waiting == queued).await;
    tokio::time::sleep(COMMAND_TIMEOUT).await;
    waiting
}

fn is_unavailable<T>(outcome: &Result<T, AcquireError>) -> bool {
    matches!(outcome, Err(AcquireError::Unavailable(_)))
}

/// While the store is away: waiters wait on, and new requests are refused within the command timeout.
async fn new_requests_are_refused(client: &LockClient) {
    for (key, fail_fast) in [("other", false), ("k", false), ("k", true)] {
        let requests = (0..5).map(|_| client.write(key).wait(NEVER).fail_fast(fail_fast).acquire());
        for refused in Stopwatch::start().within(REFUSED, join_all(requests)).await {
            assert!(is_unavailable(&refused), "{key}: {refused:?}");
        }
    }
}

async fn waiters_wait_on_while_redis_hangs_and_are_refused_when_their_wait_ends(wire: Wire) {
    // Whether Redis is silent is decided by a timeout: a machine that stands still is silent too.
    unless_stalled(async || waiters_wait_on_while_redis_hangs(wire).await).await;
}

async fn waiters_wait_on_while_redis_hangs(wire: Wire) {
    let server = RedisServer::start().await;
    let patient = wire.builder().lease(NEVER).command_timeout(LIMIT);
    let (here, there) = (client(wire, &server).await, connected(patient, &server.url()).await);
    let guard = there.write("k").acquire().await.unwrap();
    // The first of them waits at Redis, the others behind it.
    let patient = waiting(&here, 11, LONG, 10).await;
    let wait = Duration::from_secs(4);
    let hurried = waiting(&here, 10, wait, 20).await;
    server.pause();
    new_requests_are_refused(&here).await;
    assert!(here.health().await.breaker_open);
    for refused in Stopwatch::start().within(wait + REFUSED, hurried.join_all()).await {
        assert!(is_unavailable(&refused), "{refused:?}");
    }
    assert_eq!(here.health().await.waiting, 10, "the others wait on");
    server.resume();
    drop(guard);
    for granted in bounded(LIMIT, patient.join_all()).await {
        assert!(granted.is_ok(), "{granted:?}");
    }
    nothing_stays(&server, &[&here, &there]).await;
}

async fn waiters_wait_on_until_redis_is_started_again(wire: Wire) {
    unless_stalled(async || waiters_wait_on_until_redis_is_back(wire).await).await;
}

async fn waiters_wait_on_until_redis_is_back(wire: Wire) {
    let mut server = RedisServer::start().await;
    let client = client(wire, &server).await;
    let guard = client.write("k").acquire().await.unwrap();
    let waiting = waiting(&client, 10, LONG, 10).await;
    server.kill();
    assert!(!client.health().await.is_ready());
    new_requests_are_refused(&client).await;
    assert_eq!(client.health().await.waiting, 10);
    server.restart().await;
    drop(guard);
    for granted in bounded(LIMIT, waiting.join_all()).await {
        assert!(granted.is_ok(), "{granted:?}");
    }
    nothing_stays(&server, &[&client]).await;
}
