//! One fair lock, waited for by ours and by Redisson's.

use crate::scripts::fair::call::JavaFair::{Acquire, Fail, Unlock};
use crate::scripts::fair::call::{PLACE, WAIT, acquire, leave, release};
use crate::scripts::fair::steps::{dies, queued, turns};
use crate::scripts::support::call::LEASE;
use crate::scripts::support::keys::{ALIVE, DEADLINES, FOREVER, QUEUE, lock, within};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn the_order_is_kept_across_languages() {
    let mut store = queued(&["b:2"]).await;
    assert!(Acquire.ask(&store, "j:1").await.is_some());
    assert_eq!(store.refused(&acquire("c:3", 1), "BUSY", LEASE).await, ["1"]);
    assert!(Acquire.ask(&store, "j:2").await.is_some());
    assert_eq!(store.cli.list(QUEUE).await, ["b:2", "j:1", "c:3", "j:2"]);

    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["b:2"]);
    assert!(Acquire.ask(&store, "j:1").await.is_some());
    store.granted(&acquire("b:2", 1)).await;
    assert_eq!(store.ask(&release("b:2", 0)).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["j:1"]);
    assert_eq!(store.ask(&acquire("c:3", 1)).await[0], "BUSY");
    assert_eq!(Acquire.ask(&store, "j:1").await, None);
    assert_eq!(Unlock.ask(&store, "j:1").await, Some(1));
    assert_eq!(turns(&mut store).await, ["c:3"]);
    store.granted(&acquire("c:3", 1)).await;
    assert_eq!(store.ask(&release("c:3", 0)).await, ["FREED"]);
    assert_eq!(Acquire.ask(&store, "j:2").await, None);
    assert_eq!(Unlock.ask(&store, "j:2").await, Some(1));
    store.stands([]).await;
}

/// Redisson takes one wait from every deadline at each grant, and passes by whose is over: short
/// ones would have lost their place.
#[tokio::test]
async fn grants_and_leavers_ahead_cost_ours_no_place() {
    for steps in [1, 4] {
        let store = queued(&["b:2"]).await;
        for java in ["j:1", "j:2", "j:3"] {
            assert!(Acquire.ask(&store, java).await.is_some());
        }
        for ours in ["c:3", "d:4", "e:5"] {
            for _refreshed in 0..steps {
                store.refused(&acquire(ours, 1), "BUSY", LEASE).await;
            }
        }
        assert_eq!(store.ask(&leave("b:2")).await, ["GONE"]);
        assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
        assert_eq!(Acquire.ask(&store, "j:1").await, None);
        Fail.ask(&store, "j:2").await;
        assert_eq!(Unlock.ask(&store, "j:1").await, Some(1));
        assert_eq!(Acquire.ask(&store, "j:3").await, None);
        assert_eq!(Unlock.ask(&store, "j:3").await, Some(1));
        for (ours, behind) in [("c:3", 2), ("d:4", 1), ("e:5", 0)] {
            // A newcomer of Java's would drop a waiter that it takes for dead.
            assert!(Acquire.ask(&store, "j:9").await.is_some(), "{ours} is next");
            assert_eq!(store.cli.list(QUEUE).await.len(), behind + 2);
            Fail.ask(&store, "j:9").await;
            store.granted(&acquire(ours, 1)).await;
            assert_eq!(store.ask(&release(ours, 0)).await, ["FREED"]);
        }
    }
}

/// Its place lives on by its own sign, whatever Redisson's deadline for it has come to.
#[tokio::test]
async fn an_expired_deadline_is_extended_for_redisson_waiters_ahead() {
    let store = queued(&["b:2"]).await;
    assert!(Acquire.ask(&store, "j:1").await.is_some());
    store.refused(&acquire("c:3", 1), "BUSY", LEASE).await;
    let soon = (store.now().await + WAIT / 4).to_string();
    for waiter in ["b:2", "c:3"] {
        store.set(&["ZADD", DEADLINES, &soon, waiter]).await;
        store.refused(&acquire(waiter, 1), "BUSY", LEASE).await;
    }
    for (waits, waiter) in (1..).zip(["b:2", "c:3"]) {
        let deadline = store.score(DEADLINES, waiter).await.unwrap() - store.now().await;
        assert!(within(deadline, waits * WAIT), "{waiter}: {deadline}");
    }
    assert_eq!(store.cli.list(QUEUE).await, ["b:2", "j:1", "c:3"]);
}

/// However many of ours stand ahead of it: it counts no wait for them, but one for the first.
#[tokio::test]
async fn a_dead_java_waiter_behind_ours_is_skipped_within_one_wait() {
    let ours: Vec<String> = (1..50).map(|waiter| format!("w:{waiter}")).collect();
    let store = queued(&ours.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert!(Acquire.ask(&store, "j:1").await.is_some());
    let deadline = store.score(DEADLINES, "j:1").await.unwrap() - store.now().await;
    assert!(within(deadline, LEASE + 2 * WAIT), "{deadline}");
}

/// For hours waiters of ours and of Redisson's come, and those ahead are granted the lock or give up.
#[tokio::test]
async fn deadlines_stay_near_however_many_come_and_go() {
    let store = queued(&["b:2"]).await;
    assert!(Acquire.ask(&store, "j:0").await.is_some());
    for round in 1..60 {
        let (ours, leaves, java) =
            (format!("w:{round}"), format!("x:{round}"), format!("j:{round}"));
        store.refused(&acquire(&ours, 1), "BUSY", LEASE).await;
        store.refused(&acquire(&leaves, 1), "BUSY", LEASE).await;
        assert!(Acquire.ask(&store, &java).await.is_some());
        store.refused(&acquire(&ours, 1), "BUSY", LEASE).await;
        assert_eq!(store.ask(&leave(&leaves)).await, ["GONE"]);
        // The head is granted the lock and releases it, or gives up.
        let head = store.cli.list(QUEUE).await.remove(0);
        if head.starts_with('j') {
            store.set(&["DEL", crate::scripts::support::keys::LOCK]).await;
            assert_eq!(Acquire.ask(&store, &head).await, None);
        } else {
            assert_eq!(store.ask(&leave(&head)).await, ["GONE"]);
        }
        let waiting = store.cli.list(QUEUE).await;
        let javas = i64::try_from(waiting.iter().filter(|one| one.starts_with('j')).count());
        let most = LEASE + (javas.unwrap() + 2) * WAIT;
        for (waiter, deadline) in store.cli.sorted_set(DEADLINES).await {
            let left = deadline as i64 - store.now().await;
            assert!(left <= most, "{waiter} in round {round}: {left} of {most} ms");
        }
    }
}

/// Redisson 4 counts a waiter that has a limit by that limit: if it dies, the waiter behind it does
/// not lose five minutes.
#[tokio::test]
async fn a_java_waiter_that_died_takes_nothing_from_those_behind() {
    let store = queued(&["b:2"]).await;
    assert!(Acquire.ask(&store, "j:1").await.is_some());
    assert!(Acquire.ask(&store, "j:2").await.is_some());
    let over = (store.now().await - 1).to_string();
    store.set(&["ZADD", DEADLINES, &over, "j:1"]).await;
    let before = store.score(DEADLINES, "j:2").await;
    dies(&store, "b:2").await;
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    assert_eq!(store.cli.list(QUEUE).await, ["j:2"]);
    assert_eq!(store.score(DEADLINES, "j:2").await, before);
}

#[tokio::test]
async fn a_queue_with_a_java_waiter_has_no_ttl_as_java_leaves_it() {
    let store = queued(&["b:2"]).await;
    assert!(Acquire.ask(&store, "j:1").await.is_some());
    store.refused(&acquire("b:2", 1), "BUSY", LEASE).await;
    for key in [QUEUE, DEADLINES] {
        assert_eq!(store.cli.pttl(key).await, FOREVER, "{key}");
    }
    assert!(within(store.cli.pttl(ALIVE).await, 2 * PLACE));
    // Without it there is an end again.
    Fail.ask(&store, "j:1").await;
    store.refused(&acquire("b:2", 1), "BUSY", LEASE).await;
    for key in [QUEUE, DEADLINES, ALIVE] {
        assert!(within(store.cli.pttl(key).await, 2 * PLACE), "{key}");
    }
}

#[tokio::test]
async fn the_last_of_ours_leaves_java_its_queue_for_ever() {
    for leaves in ["by itself", "granted", "dropped"] {
        let store = queued(&["b:2"]).await;
        // After the last sign of life of ours.
        assert!(Acquire.ask(&store, "j:1").await.is_some());
        assert!(store.cli.pttl(QUEUE).await > 0);
        if leaves == "by itself" {
            assert_eq!(store.ask(&leave("b:2")).await, ["GONE"]);
        } else {
            store.expire().await;
            if leaves == "dropped" {
                dies(&store, "b:2").await;
                assert_eq!(store.ask(&release("a:1", 0)).await, ["GONE"]);
            } else {
                store.granted(&acquire("b:2", 1)).await;
            }
        }
        assert_eq!(store.cli.list(QUEUE).await, ["j:1"], "{leaves}");
        for key in [QUEUE, DEADLINES] {
            assert_eq!(store.cli.pttl(key).await, FOREVER, "{key} {leaves}");
        }
    }
}

#[tokio::test]
async fn a_java_head_past_its_deadline_is_dropped() {
    let mut store = queued(&[]).await;
    assert!(Acquire.ask(&store, "j:1").await.is_some());
    store.refused(&acquire("b:2", 1), "BUSY", LEASE).await;
    store.expire().await;
    assert_eq!(store.ask(&acquire("b:2", 1)).await[0], "BUSY", "it may still come");
    store.set(&["ZADD", DEADLINES, "1", "j:1"]).await;
    store.granted(&acquire("b:2", 1)).await;
    assert_eq!(store.ask(&release("b:2", 0)).await, ["FREED"]);
    assert!(turns(&mut store).await.is_empty());
    store.stands([]).await;
}

/// Its place is lost, not its wait: it stands in line again when it looks next.
#[tokio::test]
async fn one_that_java_passed_by_queues_again() {
    let store = queued(&["b:2"]).await;
    assert!(Acquire.ask_ahead(&store, "j:1", 3_600_000).await.is_some());
    assert_eq!(store.cli.list(QUEUE).await, ["j:1"]);
    assert_eq!(store.refused(&acquire("b:2", 1), "BUSY", LEASE).await, ["1"]);
    assert_eq!(store.cli.list(QUEUE).await, ["j:1", "b:2"]);
}

#[tokio::test]
async fn a_lost_keep_alive_ends_our_waiter_and_not_javas() {
    let ours = "0b0b0b0b-0b0b-8b0b-8b0b-0b0b0b0b0b0b:7";
    let javas = "0b0b0b0b-0b0b-4b0b-8b0b-0b0b0b0b0b0b:7";
    for (waiter, status) in [(ours, "GRANTED"), (javas, "BUSY")] {
        let store = queued(&[waiter]).await;
        store.set(&["DEL", ALIVE]).await;
        store.expire().await;
        assert_eq!(store.ask(&acquire("c:3", 1)).await[0], status, "{waiter}");
    }
}

#[tokio::test]
async fn java_holds_and_ours_waits_and_the_reverse() {
    let mut store = Store::start().await;
    assert_eq!(Acquire.ask(&store, "j:1").await, None);
    assert_eq!(store.refused(&acquire("a:1", 1), "BUSY", LEASE).await, ["1"]);
    assert_eq!(Unlock.ask(&store, "j:1").await, Some(1));
    assert_eq!(turns(&mut store).await, ["a:1"]);
    store.granted(&acquire("a:1", 1)).await;
    store.stands([lock("a:1=1", LEASE)]).await;
    assert!(within(Acquire.ask(&store, "j:1").await.unwrap(), LEASE));
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["j:1"]);
    assert_eq!(Acquire.ask(&store, "j:1").await, None);
    assert_eq!(Unlock.ask(&store, "j:1").await, Some(1));
    store.stands([]).await;
}
