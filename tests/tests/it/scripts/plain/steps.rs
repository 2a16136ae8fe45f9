//! exclusive/acquire, exclusive/release and exclusive/renew: a lock with one holder.

use crate::scripts::plain::call::{acquire, release, renew};
use crate::scripts::support::call::{HOUR, LEASE, LONGER, acquire_read, acquire_write};
use crate::scripts::support::keys::{
    FOREVER, Key, LINE, LOCK, LOCK_CHANNEL, TOKEN, lock, waiters, within,
};
use crate::scripts::support::store::{Store, is_at_the_memory_limit};
use crate::scripts::support::waiter::woken;

/// Messages on the plain lock's channel, as `reported` takes them.
async fn reported(store: &mut Store) -> Vec<String> {
    let reported = store.reported_where().await.into_iter();
    reported
        .map(|(channel, message)| {
            assert_eq!(channel, LOCK_CHANNEL);
            message
        })
        .collect()
}

#[tokio::test]
async fn a_free_lock_is_granted_and_granted_again() {
    let mut store = Store::start().await;
    let first = store.granted(&acquire("a:1", 1)).await;
    store.stands([lock("a:1=1", LEASE)]).await;
    assert!(within(store.cli.pttl(TOKEN).await, HOUR));
    let second = store.granted(&acquire("a:1", 1)).await;
    assert!(second > first);
    store.stands([lock("a:1=1", LEASE)]).await;
    assert!(reported(&mut store).await.is_empty());
}

#[tokio::test]
async fn a_second_hold_counts_once_and_never_shortens_the_lease() {
    let store = Store::start().await;
    store.granted(&acquire("a:1", 1)).await;
    for _asked in 0..2 {
        let longer = acquire("a:1", 2).with("lease", LONGER);
        assert_eq!(store.ask(&longer).await, ["GRANTED", ""]);
        store.stands([lock("a:1=2", LONGER)]).await;
    }
    assert_eq!(store.ask(&acquire("a:1", 3)).await, ["GRANTED", ""]);
    store.stands([lock("a:1=3", LONGER)]).await;
    // A repeated outer acquire takes no inner hold away.
    store.granted(&acquire("a:1", 1)).await;
    store.stands([lock("a:1=3", LONGER)]).await;
}

#[tokio::test]
async fn a_refused_owner_gets_the_time_left() {
    let mut store = Store::start().await;
    store.granted(&acquire("b:2", 1)).await;
    assert_eq!(store.refused(&acquire("a:1", 1), "BUSY", LEASE).await, ["1"]);
    store.stands([lock("b:2=1", LEASE), waiters("write:a:1")]).await;
    let no_place = acquire("c:3", 1).with("place_ms", 0).with("waited_ms", LONGER);
    assert_eq!(store.refused(&no_place, "BUSY", LEASE).await, ["0"]);
    store.stands([lock("b:2=1", LEASE), waiters("write:a:1")]).await;

    store.set(&["PERSIST", LOCK]).await;
    assert_eq!(store.ask(&acquire("a:1", 1)).await, ["BUSY", "-1", "1"]);
    assert!(reported(&mut store).await.is_empty());
}

#[tokio::test]
async fn a_hold_on_top_of_holds_that_are_gone_is_lost() {
    let store = Store::start().await;
    assert_eq!(store.ask(&acquire("a:1", 2)).await, ["LOST"]);
    store.stands([]).await;
    store.granted(&acquire("a:1", 1)).await;
    assert_eq!(store.ask(&acquire("a:1", 3)).await, ["LOST"]);
    store.expire().await;
    store.granted(&acquire("b:2", 1)).await;
    assert_eq!(store.ask(&acquire("a:1", 2)).await, ["LOST"]);
    store.stands([lock("b:2=1", LEASE)]).await;
}

#[tokio::test]
async fn the_last_hold_frees_the_lock_and_publishes_once() {
    let mut store = Store::start().await;
    store.granted(&acquire("a:1", 1).with("lease", LONGER)).await;
    for holds in [2, 3] {
        assert_eq!(store.ask(&acquire("a:1", holds)).await, ["GRANTED", ""]);
    }
    for _asked in 0..2 {
        assert_eq!(store.ask(&release("a:1", 1)).await, ["RELEASED"]);
        store.stands([lock("a:1=1", LONGER)]).await;
    }
    assert!(reported(&mut store).await.is_empty());
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(reported(&mut store).await, ["0"]);
    assert_eq!(store.ask(&release("a:1", 0)).await, ["GONE"]);
    assert!(reported(&mut store).await.is_empty());
}

#[tokio::test]
async fn nothing_to_release_is_gone() {
    let mut store = Store::start().await;
    assert_eq!(store.ask(&release("a:1", 0)).await, ["GONE"]);
    store.granted(&acquire("a:1", 1)).await;
    assert_eq!(store.ask(&release("a:1", 2)).await, ["GONE"]);
    assert_eq!(store.ask(&release("b:2", 0)).await, ["GONE"]);
    store.stands([lock("a:1=1", LEASE)]).await;
    // A late release of an old hold touches nothing of the next owner's.
    store.expire().await;
    store.granted(&acquire("a:2", 1)).await;
    assert_eq!(store.ask(&release("a:1", 0)).await, ["GONE"]);
    store.stands([lock("a:2=1", LEASE)]).await;
    assert!(reported(&mut store).await.is_empty());
}

#[tokio::test]
async fn a_renewal_never_shortens_and_reports_lost_permits() {
    let store = Store::start().await;
    store.granted(&acquire("a:1", 1)).await;
    for lease in [LONGER, LEASE] {
        assert_eq!(store.ask(&renew("a:1").with("lease", lease)).await, ["RENEWED", "1"]);
        store.stands([lock("a:1=1", LONGER)]).await;
    }
    assert_eq!(store.ask(&renew("b:2")).await, ["RENEWED", "0"]);
    store.expire().await;
    assert_eq!(store.ask(&renew("a:1")).await, ["RENEWED", "0"]);
    store.stands([]).await;
}

#[tokio::test]
async fn a_foreign_key_spoils_only_its_own_renewal() {
    let store = Store::start().await;
    store.granted(&acquire("a:1", 1)).await;
    store.set(&["SET", "lock:x", "foreign"]).await;
    store.set(&["HSET", "lock:y", "a:1", "words"]).await;
    store.set(&["HSET", "lock:z", "mode", "read", "a:1", "1"]).await;
    let mut batch = renew("a:1").with("lease", LONGER);
    let one = batch.args.clone();
    for key in ["lock:x", "lock:y", "lock:z", "lock:none"] {
        batch.keys.insert(0, key.to_owned());
        batch.args.extend(one.clone());
    }
    assert_eq!(store.ask(&batch).await, ["RENEWED", "0", "0", "FAILED", "FAILED", "1"]);
    assert!(within(store.cli.pttl(LOCK).await, LONGER));
    for key in ["lock:x", "lock:y", "lock:z"] {
        assert_eq!(store.cli.pttl(key).await, FOREVER);
    }
}

#[tokio::test]
async fn the_waiter_that_has_waited_longest_is_next() {
    let mut store = Store::start().await;
    store.stop_clock();
    store.granted(&acquire("a:1", 1)).await;
    assert_eq!(store.refused(&acquire("b:2", 1), "BUSY", LEASE).await, ["1"]);
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    // Its holder comes again at once.
    store.pass(1);
    for yields in [0, 1] {
        let again = acquire("a:2", 1).with("yields", yields);
        assert_eq!(store.ask(&again).await, ["BUSY", "49", "1"]);
    }
    store.stands([waiters("write:a:2 write:b:2")]).await;
    store.granted(&acquire("b:2", 1)).await;
    store.stands([lock("b:2=1", LEASE), waiters("write:a:2")]).await;
    assert_eq!(reported(&mut store).await, [woken("b:2", "0")]);
    // One that has waited longer passes.
    assert_eq!(store.ask(&release("b:2", 0)).await, ["FREED"]);
    store.granted(&acquire("c:3", 1).with("waited_ms", LONGER)).await;
    store.stands([lock("c:3=1", LEASE), waiters("write:a:2")]).await;
}

#[tokio::test]
async fn a_waiter_that_leaves_takes_its_place_along() {
    let mut store = Store::start().await;
    store.granted(&acquire("a:1", 1)).await;
    store.refused(&acquire("b:2", 1), "BUSY", LEASE).await;
    for other in [release("c:3", 0).with("queued", 1), release("b:2", 0)] {
        assert_eq!(store.ask(&other).await, ["GONE"]);
        store.stands([lock("a:1=1", LEASE), waiters("write:b:2")]).await;
    }
    for _asked in 0..2 {
        assert_eq!(store.ask(&release("b:2", 0).with("queued", 1)).await, ["GONE"]);
        store.stands([lock("a:1=1", LEASE)]).await;
    }
    assert!(reported(&mut store).await.is_empty(), "it is held");
}

#[tokio::test]
async fn a_plain_read_write_lock_is_another_kind_and_the_reverse() {
    for other in [acquire_read("b:2", 1), acquire_write("b:2", 1)] {
        let mut store = Store::start().await;
        store.granted(&other).await;
        let before = store.keys().await;
        for holds in [1, 2] {
            assert_eq!(store.ask(&acquire("a:1", holds)).await, ["WRONG_KIND"]);
        }
        assert_eq!(store.ask(&release("b:2", 0)).await, ["GONE"]);
        assert_eq!(store.ask(&renew("b:2")).await, ["RENEWED", "0"]);
        store.unchanged_since(&before).await;

        store.expire().await;
        store.set(&["DEL", &format!("{}:1", crate::scripts::support::call::reads("b:2"))]).await;
        store.granted(&acquire("a:1", 1)).await;
        assert_eq!(store.ask(&other).await, ["WRONG_KIND"]);
        store.stands([lock("a:1=1", LEASE)]).await;
        assert!(reported(&mut store).await.is_empty());
    }
}

#[tokio::test]
async fn a_fair_read_write_line_of_the_name_is_another_kind() {
    let store = Store::start().await;
    store.set(&["ZADD", LINE, "0", "fair"]).await;
    assert_eq!(store.ask(&acquire("a:1", 1)).await, ["WRONG_KIND"]);
    store.stands([Key::new(LINE, "zset fair", FOREVER)]).await;
}

#[tokio::test]
async fn something_else_under_the_name_is_no_lock() {
    for foreign in [
        &["SET", LOCK, "foreign"][..],
        &["RPUSH", LOCK, "one", "two"],
        &["HSET", LOCK, "name", "Ann"],
        &["HSET", LOCK, "age", "1.5"],
        &["HSET", LOCK, "stock", "0"],
        &["HSET", LOCK, "one", "1", "two", "2"],
        &["HSET", LOCK, "a:1", "many"],
        &["HSET", LOCK, "mode", ""],
    ] {
        let mut store = Store::start().await;
        store.set(foreign).await;
        let before = store.keys().await;
        for holds in [1, 2] {
            assert_eq!(store.ask(&acquire("a:1", holds)).await, ["WRONG_KIND"], "{foreign:?}");
        }
        for queued in [0, 1] {
            assert_eq!(store.ask(&release("a:1", 0).with("queued", queued)).await, ["GONE"]);
        }
        store.unchanged_since(&before).await;
        assert!(reported(&mut store).await.is_empty());
    }
}

#[tokio::test]
async fn a_key_that_holds_no_token_is_never_a_grant() {
    let store = Store::start().await;
    for foreign in [&["SET", TOKEN, "x"][..], &["RPUSH", TOKEN, "x"]] {
        store.set(&["DEL", TOKEN]).await;
        store.set(foreign).await;
        assert_eq!(store.ask(&acquire("a:1", 1)).await, ["WRONG_KIND"]);
        store.stands([]).await;
    }
}

/// RFencedLock counts from one, forever; its count goes on above ours.
#[tokio::test]
async fn a_fenced_lock_of_java_keeps_its_token_for_ever() {
    let store = Store::start().await;
    store.set(&["SET", TOKEN, "5"]).await;
    assert!(store.granted(&acquire("a:1", 1)).await > 5);
    assert_eq!(store.cli.pttl(TOKEN).await, FOREVER);
    store.expire().await;
    store.set(&["DEL", TOKEN]).await;
    store.granted(&acquire("a:1", 1).with("token_ttl", 0)).await;
    assert_eq!(store.cli.pttl(TOKEN).await, FOREVER);
}

#[tokio::test]
async fn at_the_memory_limit_what_is_held_can_be_kept_and_given_back() {
    let mut store = Store::start().await;
    store.granted(&acquire("a:1", 1)).await;
    assert_eq!(store.ask(&acquire("a:1", 2)).await, ["GRANTED", ""]);
    store.refused(&acquire("b:2", 1), "BUSY", LEASE).await;
    store.fill().await;
    assert_eq!(store.ask(&renew("a:1").with("lease", LONGER)).await, ["RENEWED", "1"]);
    assert_eq!(store.ask(&acquire("a:1", 3)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&release("a:1", 1)).await, ["RELEASED"]);
    store.stands([lock("a:1=1", LONGER), waiters("write:b:2")]).await;
    assert_eq!(store.ask(&release("b:2", 0).with("queued", 1)).await, ["GONE"]);
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(reported(&mut store).await, ["0"]);
    let refused = store.try_ask(&acquire("a:1", 1)).await.unwrap_err();
    assert!(is_at_the_memory_limit(&refused), "{refused}");
    store.stands([]).await;
}
