//! Unknown outcomes: a hold that is uncertain is never relied upon, and one that is certain is not
//! given up for it.

use std::time::Duration;

use futures_util::poll;
use lock_core::{AcquireError, InspectError, LockClient, Mode, ReleaseError};
use lock_tests::{
    Direction, LIMIT, Proxy, RedisServer, Wire, bounded, eventually, on_every_wire, unless_stalled,
};
use tokio::time::sleep;

use crate::faults::{LONG, client_at, nothing_stays};

on_every_wire! {
    a_guard_dropped_during_an_upgrade_is_not_counted_again
    a_cancelled_inner_read_does_not_cost_the_write
    an_outage_during_an_inner_read_does_not_cost_the_write
    a_read_that_may_be_released_is_not_entered_in_vain
    what_was_lost_on_the_way_is_not_granted
    an_upgrade_keeps_the_other_reads_of_its_scope
    a_hold_that_is_entered_while_its_last_guard_goes_is_renewed
    a_cancelled_acquisition_is_waited_for_by_the_next_try
    a_release_after_an_upgrade_of_unknown_outcome_is_no_loss
    a_release_beside_a_reentry_is_reported
    a_wait_that_ends_while_the_outcome_is_unknown_reports_it
    an_undone_upgrade_is_believed_only_while_redis_has_it
    a_read_outlives_a_write_with_an_unconfirmed_release
    entering_again_waits_for_a_change_of_mode_that_is_in_doubt
    a_lock_taken_away_is_not_taken_from_the_next_holder_too
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A client behind a proxy, and another one.
async fn pair(wire: Wire) -> (RedisServer, Proxy, LockClient, LockClient) {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let here = client_at(wire, &server.url_through(&proxy)).await;
    let there = client_at(wire, &server.url()).await;
    (server, proxy, here, there)
}

async fn a_guard_dropped_during_an_upgrade_is_not_counted_again(wire: Wire) {
    let (server, proxy, here, _) = pair(wire).await;
    let scope = here.scope();
    let mut one = scope.read("k").acquire().await.unwrap();
    let two = scope.read("k").acquire().await.unwrap();
    proxy.delay(Direction::ToClient, ms(60));
    let (upgraded, ()) = tokio::join!(one.upgrade(), async {
        sleep(ms(20)).await;
        drop(two);
    });
    upgraded.unwrap();
    proxy.pass();
    drop(one);
    nothing_stays(&server, &[&here]).await;
    here.shutdown(LONG).await.unwrap();
}

async fn a_cancelled_inner_read_does_not_cost_the_write(wire: Wire) {
    let (_server, _proxy, here, _) = pair(wire).await;
    let scope = here.scope();
    for round in 0..20 {
        let write = scope.write("k").acquire().await.unwrap();
        {
            let mut inner = Box::pin(scope.read("k").acquire());
            let _ = poll!(&mut inner);
        }
        // The next step of this hold waits for what was left of the last one.
        scope.write("k").acquire().await.unwrap().release().await.unwrap();
        assert!(write.is_held(), "round {round}");
        write.release().await.unwrap();
    }
}

async fn an_outage_during_an_inner_read_does_not_cost_the_write(wire: Wire) {
    let (_server, proxy, here, _) = pair(wire).await;
    let scope = here.scope();
    let write = scope.write("k").acquire().await.unwrap();
    let mut other = scope.write("k").acquire().await.unwrap();
    proxy.refuse();
    proxy.cut().await;
    assert!(scope.read("k").acquire().await.is_err());
    assert!(other.downgrade().await.is_err());
    drop(other);
    proxy.pass();
    eventually("settled", LIMIT, async || scope.write("k").acquire().await.is_ok()).await;
    assert!(write.is_held());
    write.release().await.unwrap();
}

async fn a_read_that_may_be_released_is_not_entered_in_vain(wire: Wire) {
    let (_server, proxy, here, there) = pair(wire).await;
    let scope = here.scope();
    let write = scope.write("k").acquire().await.unwrap();
    let read = scope.read("k").acquire().await.unwrap();
    proxy.black_hole(Direction::ToClient);
    drop(read);
    sleep(ms(50)).await;
    // Whatever the outcome of the release, Redis must be contacted.
    let again = scope.read("k").wait(ms(2_000)).acquire().await;
    assert!(matches!(again, Err(AcquireError::Unavailable(_))), "{again:?}");
    proxy.pass();
    let again = bounded(LIMIT, async {
        loop {
            if let Ok(guard) = scope.read("k").acquire().await {
                return guard;
            }
        }
    })
    .await;
    write.release().await.unwrap();
    assert!(again.is_held());
    assert!(there.write("k").try_acquire().await.is_err());
}

async fn what_was_lost_on_the_way_is_not_granted(wire: Wire) {
    unless_stalled(async || {
        let (_server, proxy, here, _) = pair(wire).await;
        let mut upgrading = here.read("a").renew(false).lease(ms(400)).acquire().await.unwrap();
        let scope = here.scope();
        let outer = scope.write("b").renew(false).lease(ms(400)).acquire().await.unwrap();
        sleep(ms(250)).await;
        proxy.delay(Direction::ToClient, ms(200));
        let (upgraded, entered) = tokio::join!(
            async { upgrading.upgrade().await.map_err(|error| error.to_string()) },
            async { scope.write("b").acquire().await.map(|guard| guard.is_held()) },
        );
        proxy.pass();
        assert!(upgraded.is_err() || upgrading.is_held(), "granted, and lost already");
        assert!(entered.is_err() || entered.unwrap(), "granted, and lost already");
        drop(outer);
    })
    .await;
}

async fn an_upgrade_keeps_the_other_reads_of_its_scope(wire: Wire) {
    unless_stalled(async || {
        let (_server, _proxy, here, there) = pair(wire).await;
        let scope = here.scope();
        let read = || scope.read("k").renew(false).lease(ms(2_000)).acquire();
        let mut one = read().await.unwrap();
        let two = read().await.unwrap();
        sleep(ms(1_200)).await;
        one.upgrade().await.unwrap();
        one.release().await.unwrap();
        sleep(ms(1_000)).await;
        let entered = there.write("k").try_acquire().await;
        assert!(!(two.is_held() && entered.is_ok()), "two believe in the lock");
    })
    .await;
}

async fn a_hold_that_is_entered_while_its_last_guard_goes_is_renewed(wire: Wire) {
    unless_stalled(async || {
        let (_server, proxy, here, _) = pair(wire).await;
        let scope = here.scope();
        let outer = scope.write("k").lease(ms(600)).acquire().await.unwrap();
        sleep(ms(140)).await;
        proxy.delay(Direction::ToClient, ms(100));
        let (inner, ()) = tokio::join!(scope.write("k").acquire(), async {
            sleep(ms(30)).await;
            drop(outer);
        });
        let inner = inner.unwrap();
        proxy.pass();
        sleep(ms(1_500)).await;
        assert!(inner.is_held());
    })
    .await;
}

async fn a_cancelled_acquisition_is_waited_for_by_the_next_try(wire: Wire) {
    unless_stalled(async || {
        let (_server, proxy, here, _) = pair(wire).await;
        proxy.delay(Direction::ToClient, ms(20));
        let cancelled = tokio::time::timeout(ms(5), here.write("k").acquire()).await;
        assert!(cancelled.is_err());
        drop(here.write("k").try_acquire().await.unwrap());
    })
    .await;
}

async fn a_release_after_an_upgrade_of_unknown_outcome_is_no_loss(wire: Wire) {
    let (server, proxy, here, _) = pair(wire).await;
    let mut guard = here.read("k").acquire().await.unwrap();
    proxy.black_hole(Direction::ToClient);
    assert!(guard.upgrade().await.is_err());
    assert_eq!(guard.mode(), Mode::Read);
    proxy.pass();
    let released = guard.release().await;
    assert!(!matches!(released, Err(ReleaseError::Lost(_))), "{released:?}");
    nothing_stays(&server, &[&here]).await;
}

async fn a_release_beside_a_reentry_is_reported(wire: Wire) {
    let (_server, proxy, here, _) = pair(wire).await;
    let scope = here.scope();
    let _outer = scope.write("k").acquire().await.unwrap();
    let inner = scope.write("k").acquire().await.unwrap();
    let mut release = Box::pin(inner.release());
    assert!(poll!(&mut release).is_pending());
    sleep(ms(100)).await;
    proxy.delay(Direction::ToClient, ms(40));
    let mut again = Box::pin(scope.write("k").acquire());
    let _ = poll!(&mut again);
    let (released, again) = bounded(ms(5_000), async { tokio::join!(release, again) }).await;
    released.unwrap();
    again.unwrap().release().await.unwrap();
}

async fn a_wait_that_ends_while_the_outcome_is_unknown_reports_it(wire: Wire) {
    unless_stalled(async || {
        let (server, _proxy, here, there) = pair(wire).await;
        let _held = there.write("k").renew(false).lease(ms(1_000)).acquire().await.unwrap();
        let waiter = tokio::spawn(here.write("k").wait(ms(1_300)).lease(LONG).acquire());
        sleep(ms(900)).await;
        server.pause();
        let refused = waiter.await.unwrap().unwrap_err();
        server.resume();
        assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
        nothing_stays(&server, &[&here]).await;
    })
    .await;
}

async fn an_undone_upgrade_is_believed_only_while_redis_has_it(wire: Wire) {
    unless_stalled(async || {
        for renew in [false, true] {
            let (_server, proxy, here, there) = pair(wire).await;
            let lease = ms(3_000);
            let mut read = here.read("k").renew(renew).lease(lease).acquire().await.unwrap();
            sleep(ms(900)).await;
            proxy.refuse();
            proxy.cut().await;
            assert!(read.upgrade().await.is_err());
            proxy.pass();
            let next = there.write("k").wait(ms(4_000)).acquire().await;
            assert!(!(next.is_ok() && read.is_held()), "two believe in the lock");
            assert!(!renew || read.is_held(), "a lock that is renewed is kept");
        }
    })
    .await;
}

async fn a_read_outlives_a_write_with_an_unconfirmed_release(wire: Wire) {
    unless_stalled(async || {
        let (_server, proxy, here, there) = pair(wire).await;
        let (mut writes, mut reads) = (Vec::new(), Vec::new());
        for number in 0..20 {
            let (scope, key) = (here.scope(), format!("k:{number}"));
            // Apart, so that renewal meets their releases at different moments of trying again.
            let lease = ms(4_000 + 150 * number);
            writes.push(scope.write(&key).lease(lease).acquire().await.unwrap());
            reads.push(scope.read(&key).lease(lease).acquire().await.unwrap());
        }
        // The command is executed, the answers are lost, and then the server is away while renewal
        // is due.
        proxy.black_hole(Direction::ToClient);
        drop(writes);
        for read in &reads {
            eventually("carried out", LIMIT, async || {
                there.inspect(read.key()).await.unwrap().mode == Some(Mode::Read)
            })
            .await;
        }
        proxy.refuse();
        proxy.cut().await;
        sleep(ms(1_900)).await;
        proxy.pass();
        sleep(ms(3_500)).await;
        for read in reads {
            assert!(read.is_held(), "{}", read.key());
            assert!(there.write(read.key()).try_acquire().await.is_err());
            read.release().await.unwrap();
        }
    })
    .await;
}

async fn entering_again_waits_for_a_change_of_mode_that_is_in_doubt(wire: Wire) {
    let (_server, proxy, here, _) = pair(wire).await;
    let scope = here.scope();
    let mut read = scope.read("k").acquire().await.unwrap();
    proxy.delay(Direction::ToClient, ms(20));
    let cancelled = tokio::time::timeout(ms(5), read.upgrade()).await;
    assert!(cancelled.is_err());
    scope.read("k").wait(LONG).acquire().await.unwrap().release().await.unwrap();
    assert!(read.is_held());
}

async fn a_lock_taken_away_is_not_taken_from_the_next_holder_too(wire: Wire) {
    let (server, proxy, here, there) = pair(wire).await;
    let first = there.write("k").acquire().await.unwrap();
    let other = client_at(wire, &server.url()).await;
    let next = tokio::spawn(other.write("k").wait(LONG).acquire());
    eventually("another waits", LIMIT, async || {
        !there.inspect("k").await.unwrap().waiters.is_empty()
    })
    .await;
    // It is executed, and its answer cut off on its way.
    proxy.delay(Direction::ToClient, ms(150));
    let forced = tokio::spawn(async move { here.force_release("k").await });
    let next = bounded(LIMIT, next).await.unwrap().unwrap();
    proxy.cut().await;
    proxy.delay(Direction::ToClient, Duration::ZERO);
    let forced = bounded(LIMIT, forced).await.unwrap();
    assert!(matches!(forced, Err(InspectError::Unavailable(_))), "{forced:?}");
    let holders = there.inspect("k").await.unwrap().holders;
    assert_eq!(holders.len(), 1, "the next holder's lock was taken away as well");
    drop(first);
    next.release().await.unwrap();
}
