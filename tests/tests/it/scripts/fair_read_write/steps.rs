//! fair_read_write/*: grants, the keys that they leave, and messages.

use crate::scripts::fair_read_write::state::{
    PLACE, acquire, dies, downgrade, empty_line, everything_ends, in_line, read, release,
    release_told, renew, turn_of, write,
};
use crate::scripts::support::call::{HOUR, LEASE, LONGER};
use crate::scripts::support::keys::{
    ALIVE, LINE, LOCK, TOKEN, lock, read as read_key, with, within,
};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn a_free_lock_is_granted_and_granted_again() {
    for (call, fields, reads) in
        [(read("a:1"), "a:1=1 mode=read", 1), (write("a:1"), "a:1:write=1 mode=write", 0)]
    {
        let mut store = Store::start().await;
        let first = store.granted(&call).await;
        let second = store.granted(&call).await;
        assert!(second > first);
        let mut keys = vec![lock(fields, LEASE), empty_line(LEASE)];
        keys.extend((0..reads).map(|_| read_key("a:1", 1, LEASE)));
        store.stands(keys).await;
        assert!(within(store.cli.pttl(TOKEN).await, HOUR));
        everything_ends(&store).await;
        assert!(store.reported_where().await.is_empty());
    }
}

#[tokio::test]
async fn the_last_release_leaves_nothing_and_publishes_once() {
    for (mode, message) in [("read", "0"), ("write", "1")] {
        let mut store = Store::start().await;
        store.granted(&acquire(mode, "a:1", 1)).await;
        assert_eq!(store.ask(&acquire(mode, "a:1", 2)).await, ["GRANTED", ""]);
        for _asked in 0..2 {
            assert_eq!(store.ask(&release(mode, "a:1", 1)).await, ["RELEASED"]);
        }
        assert!(store.reported_where().await.is_empty());
        assert_eq!(store.ask(&release(mode, "a:1", 0)).await, ["FREED"]);
        store.stands([]).await;
        assert_eq!(store.reported_where().await, [release_told(message)]);
        assert_eq!(store.ask(&release(mode, "a:1", 0)).await, ["GONE"]);
        store.stands([]).await;
        assert!(store.reported_where().await.is_empty());
    }
}

#[tokio::test]
async fn readers_share_and_a_writer_is_alone() {
    let mut store = Store::start().await;
    store.granted(&read("a:1")).await;
    store.granted(&read("b:2")).await;
    let reads = [read_key("a:1", 1, LEASE), read_key("b:2", 1, LEASE), empty_line(LEASE)];
    store.stands(with(lock("a:1=1 b:2=1 mode=read", LEASE), reads)).await;
    let attempt = |call: crate::scripts::support::call::Call| call.with("place_ms", 0);
    assert_eq!(store.refused(&attempt(write("c:3")), "BUSY", LEASE).await, ["0"]);
    assert_eq!(store.ask(&release("read", "a:1", 0)).await, ["RELEASED"]);
    assert_eq!(store.ask(&release("read", "b:2", 0)).await, ["FREED"]);

    store.granted(&write("c:3")).await;
    for call in [read("a:1"), write("a:1")] {
        let before = store.keys().await;
        assert_eq!(store.refused(&attempt(call), "BUSY", LEASE).await, ["0"]);
        store.unchanged_since(&before).await;
    }
    assert_eq!(store.reported_where().await, [release_told("0")]);
}

#[tokio::test]
async fn first_come_first_served() {
    let mut store = Store::start().await;
    store.granted(&write("a:1")).await;
    let queue = ["write:b:2", "read:c:3", "read:d:4", "write:e:5", "read:f:6"];
    let call = |waiter: &str| {
        let (mode, owner) = waiter.split_once(':').unwrap();
        acquire(mode, owner, 1)
    };
    // In any order of repeated calls.
    for waiter in queue.iter().chain(queue.iter().rev()) {
        assert_eq!(store.ask(&call(waiter)).await[..1], ["BUSY"]);
    }
    assert_eq!(in_line(&store).await, queue);
    assert!(store.reported_where().await.is_empty());

    let none_passes = async |store: &Store, refused: &[&str]| {
        for waiter in refused {
            assert_eq!(store.ask(&call(waiter)).await[0], "BUSY", "{waiter}");
        }
    };
    assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["FREED"]);
    assert_eq!(store.reported_where().await, [release_told("1"), turn_of("b:2")]);
    assert_eq!(in_line(&store).await, queue, "it stays in line until it enters");
    none_passes(&store, &queue[1..]).await;
    // The last holder comes again, last.
    none_passes(&store, &["write:a:2", "read:a:3"]).await;
    store.granted(&write("b:2")).await;

    assert_eq!(store.ask(&release("write", "b:2", 0)).await, ["FREED"]);
    assert_eq!(store.reported_where().await, [release_told("1"), turn_of("c:3"), turn_of("d:4")]);
    none_passes(&store, &queue[3..]).await;
    // The second reader may come before the first.
    store.granted(&read("d:4")).await;
    none_passes(&store, &queue[3..]).await;
    store.granted(&read("c:3")).await;
    assert_eq!(store.reported_where().await, []);
    assert_eq!(store.ask(&release("read", "d:4", 0)).await, ["RELEASED"]);
    assert_eq!(store.reported_where().await, [], "a reader is still inside");
    assert_eq!(store.ask(&release("read", "c:3", 0)).await, ["FREED"]);
    assert_eq!(store.reported_where().await, [release_told("0"), turn_of("e:5")]);
    none_passes(&store, &queue[4..]).await;
    store.granted(&write("e:5")).await;
    assert_eq!(store.ask(&release("write", "e:5", 0)).await, ["FREED"]);
    assert_eq!(store.reported_where().await, [release_told("1"), turn_of("f:6")]);
    store.granted(&read("f:6")).await;
    assert_eq!(in_line(&store).await, ["write:a:2", "read:a:3"]);
}

#[tokio::test]
async fn re_entry_passes_the_line() {
    for (mode, other) in [("read", "write"), ("write", "read")] {
        let store = Store::start().await;
        store.granted(&acquire(mode, "a:1", 1)).await;
        store.refused(&acquire(other, "b:2", 1), "BUSY", LEASE).await;
        for _asked in 0..2 {
            assert_eq!(store.ask(&acquire(mode, "a:1", 2)).await, ["GRANTED", ""]);
        }
        assert_eq!(store.cli.hash(LOCK).await.len(), 2);
        if mode == "write" {
            assert_eq!(store.ask(&read("a:1")).await, ["GRANTED", ""]);
        }
        assert_eq!(in_line(&store).await, [format!("{other}:b:2")]);
    }
}

#[tokio::test]
async fn a_hold_on_top_of_holds_that_are_gone_is_lost() {
    for mode in ["read", "write"] {
        let store = Store::start().await;
        assert_eq!(store.ask(&acquire(mode, "a:1", 2)).await, ["LOST"]);
        store.stands([]).await;
        store.granted(&acquire(mode, "a:1", 1)).await;
        assert_eq!(store.ask(&acquire(mode, "a:1", 3)).await, ["LOST"]);
        store.expire().await;
        store.granted(&write("b:2")).await;
        assert_eq!(store.ask(&acquire(mode, "a:1", 2)).await, ["LOST"]);
        assert!(in_line(&store).await.is_empty());
    }
}

/// A reader whose lease is over while others read enters like any other.
#[tokio::test]
async fn a_lapsed_read_is_no_way_around_the_line() {
    let store = Store::start().await;
    store.granted(&read("a:1")).await;
    store.granted(&read("b:2")).await;
    store.refused(&write("c:3"), "BUSY", LEASE).await;
    store.lapse("a:1", 1).await;
    assert_eq!(store.ask(&read("a:1")).await[0], "BUSY");
    assert_eq!(store.ask(&acquire("read", "a:1", 2)).await, ["LOST"]);
    assert_eq!(in_line(&store).await, ["write:c:3", "read:a:1"]);
}

#[tokio::test]
async fn a_writer_inside_that_keeps_a_read_lets_readers_in() {
    let mut store = Store::start().await;
    store.granted(&write("a:1")).await;
    assert_eq!(store.ask(&read("a:1")).await, ["GRANTED", ""]);
    store.refused(&read("b:2"), "BUSY", LEASE).await;
    store.refused(&write("c:3"), "BUSY", PLACE).await;
    assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["RELEASED"]);
    assert_eq!(store.reported_where().await, [release_told("1"), turn_of("b:2")]);
    store.granted(&read("b:2")).await;
}

/// Curator: contenders stay behind a writer that becomes a reader.
#[tokio::test]
async fn a_downgrade_lets_in_the_readers_before_the_first_writer() {
    let mut store = Store::start().await;
    store.granted(&write("a:1")).await;
    for call in [read("b:2"), read("c:3"), write("d:4"), read("e:5")] {
        assert_eq!(store.ask(&call).await[0], "BUSY");
    }
    let longer = downgrade("a:1", 1, 0).with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["RELEASED"]);
    assert_eq!(store.reported_where().await, [release_told("1"), turn_of("b:2"), turn_of("c:3")]);
    everything_ends(&store).await;
    assert!(within(store.cli.pttl(LOCK).await, LONGER));
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
    assert_eq!(store.reported_where().await, [], "requested again");
    for call in [write("d:4"), read("e:5"), read("f:6")] {
        assert_eq!(store.ask(&call).await[0], "BUSY", "{call:?}");
    }
    store.granted(&read("b:2")).await;
    assert_eq!(in_line(&store).await, ["read:c:3", "write:d:4", "read:e:5", "read:f:6"]);
}

#[tokio::test]
async fn a_downgrade_with_a_writer_next_admits_no_caller() {
    let mut store = Store::start().await;
    store.granted(&write("a:1")).await;
    store.refused(&write("b:2"), "BUSY", LEASE).await;
    store.refused(&read("c:3"), "BUSY", PLACE).await;
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
    assert_eq!(store.reported_where().await, [release_told("1")]);
    for call in [write("b:2"), read("c:3")] {
        assert_eq!(store.ask(&call).await[0], "BUSY");
    }
    assert_eq!(store.ask(&downgrade("x:9", 1, 0)).await, ["LOST"]);
    assert_eq!(store.ask(&release("read", "a:1", 0)).await, ["FREED"]);
    assert_eq!(store.reported_where().await, [release_told("0"), turn_of("b:2")]);
}

#[tokio::test]
async fn a_renewal_keeps_lock_and_line() {
    for mode in ["read", "write"] {
        let store = Store::start().await;
        store.granted(&acquire(mode, "a:1", 1)).await;
        for lease in [LONGER, LEASE] {
            let renew = renew(mode, "a:1").with("lease", lease);
            assert_eq!(store.ask(&renew).await, ["RENEWED", "1"]);
            assert!(within(store.cli.pttl(LOCK).await, LONGER));
            everything_ends(&store).await;
        }
        // Evicted.
        store.set(&["DEL", LINE]).await;
        assert_eq!(store.ask(&renew(mode, "a:1")).await, ["RENEWED", "1"]);
        everything_ends(&store).await;
        store.expire().await;
        assert_eq!(store.ask(&renew(mode, "a:1")).await, ["RENEWED", "0"]);
        assert_eq!(store.ask(&renew(mode, "x:9")).await, ["RENEWED", "0"]);
        assert_eq!(store.ask(&renew("other", "a:1")).await, ["INVALID"]);
    }
}

#[tokio::test]
async fn a_foreign_key_spoils_only_its_own_renewal() {
    for mode in ["read", "write"] {
        let store = Store::start().await;
        store.granted(&acquire(mode, "a:1", 1)).await;
        store.set(&["SET", "lock:x", "foreign"]).await;
        store.set(&["RPUSH", "line:y", "foreign"]).await;
        let mut batch = renew(mode, "a:1").with("lease", LONGER);
        let one = batch.args[1..].to_vec();
        let keys = batch.keys.clone();
        batch.keys =
            ["lock:x", &keys[1], "line:x", &keys[0], &keys[1], "line:y"].map(String::from).into();
        batch.keys.extend(keys);
        batch.args.extend([one.clone(), one].concat());
        assert_eq!(store.ask(&batch).await, ["RENEWED", "FAILED", "1", "1"]);
        everything_ends_of(&store, [LOCK, LINE]).await;
    }
}

async fn everything_ends_of<const N: usize>(store: &Store, keys: [&str; N]) {
    for key in keys {
        assert!(within(store.cli.pttl(key).await, LONGER + 1_000), "{key}");
    }
}

#[tokio::test]
async fn the_time_until_another_look() {
    let store = Store::start().await;
    store.granted(&read("a:1").with("lease", LONGER)).await;
    // The first waits for the lock, the others for what is nearer: the one before.
    assert_eq!(store.refused(&write("b:2"), "BUSY", LONGER).await, ["1"]);
    let short = write("c:3").with("place_ms", PLACE / 2);
    assert_eq!(store.refused(&short, "BUSY", PLACE).await, ["1"]);
    assert_eq!(store.refused(&read("d:4"), "BUSY", PLACE / 2).await, ["1"]);
    // The lock ends before any place.
    store.set(&["PEXPIRE", LOCK, "30000"]).await;
    assert_eq!(store.refused(&read("e:5"), "BUSY", 30_000).await, ["1"]);
    // A holder without end.
    store.set(&["PERSIST", LOCK]).await;
    assert_eq!(store.refused(&read("d:4"), "BUSY", PLACE / 2).await, ["1"]);
    // Free, and another waiter is first.
    store.set(&["DEL", LOCK]).await;
    assert_eq!(store.refused(&write("c:3"), "BUSY", PLACE).await, ["1"]);
    dies(&store, "write:b:2").await;
    store.granted(&short).await;
    assert!(store.cli.exists(ALIVE).await);
}
