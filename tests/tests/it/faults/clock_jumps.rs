//! Redis' clock jumps: holders are notified, and waiters are not shut out.

use std::time::Duration;

use lock_core::{AcquireError, LockClient, LostCause};
use lock_tests::{ClockShift, LIMIT, RedisServer, Wire, bounded, eventually, on_every_wire};

use crate::faults::{LONG, client};

on_every_wire! {
    set_back_it_does_not_lengthen_what_is_renewed
    set_ahead_it_ends_the_lock_and_the_holder_is_notified
}

const HOUR: i64 = 60 * 60;
const LEASE: Duration = Duration::from_secs(2);

async fn holder(wire: Wire, server: &RedisServer) -> LockClient {
    wire.builder().lease(LEASE).connect(&server.url()).await.unwrap()
}

/// What Redis would keep the lock for if its holder died now.
async fn left(server: &RedisServer) -> Duration {
    let ms = server.cli().await.pttl("lock:k").await;
    Duration::from_millis(ms.try_into().unwrap_or(0))
}

async fn set_back_it_does_not_lengthen_what_is_renewed(wire: Wire) {
    let clock = ClockShift::new();
    let server = clock.of(RedisServer::builder()).start().await;
    let (here, there) = (holder(wire, &server).await, client(wire, &server).await);
    let guard = here.write("k").acquire().await.unwrap();
    clock.by(-HOUR);
    assert!(left(&server).await > LEASE * 100, "the jump has made it longer");
    eventually("the renewal has set it back", LIMIT, async || left(&server).await <= LEASE).await;
    guard.view().ensure_held().unwrap();
    let refused = there.write("k").try_acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Busy(_)), "{refused:?}");
    guard.release().await.unwrap();
    drop(there.write("k").try_acquire().await.unwrap());
}

async fn set_ahead_it_ends_the_lock_and_the_holder_is_notified(wire: Wire) {
    let clock = ClockShift::new();
    let server = clock.of(RedisServer::builder()).start().await;
    let (here, there) = (holder(wire, &server).await, client(wire, &server).await);
    let guard = here.write("k").acquire().await.unwrap();
    let waiting = tokio::spawn(there.write("k").wait(LONG).acquire());
    clock.by(HOUR);
    assert_eq!(bounded(LIMIT, guard.lost()).await.cause(), LostCause::Refused);
    let next = bounded(LIMIT, waiting).await.unwrap().unwrap();
    assert!(
        next.fencing_token() > guard.fencing_token(),
        "a fenced resource refuses the former holder"
    );
}
