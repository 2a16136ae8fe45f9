//! fair_read_write/*: which callers are granted, which wait in line, and which are woken.

use crate::scripts::fair::call::PLACE;
use crate::scripts::fair_read_write::call::{
    acquire, downgrade, leave, read, release, renew, upgrade, write,
};
use crate::scripts::support::call::{HOUR, LEASE, LONGER};
use crate::scripts::support::keys::{
    ALIVE, CHANNEL, FOREVER, Key, LINE, LOCK, TOKEN, TURN, lock, read as read_key, within,
};
use crate::scripts::support::store::Store;

/// `w:0` writes, the others wait in this order, `r:..` to read and `w:..` to write.
pub(crate) async fn in_line(waiters: &[&str]) -> Store {
    let mut store = Store::start().await;
    store.granted(&write("w:0")).await;
    for waiter in waiters {
        let reply = store.ask(&ask(waiter)).await;
        assert_eq!((reply[0].as_str(), reply[2].as_str()), ("BUSY", "1"), "{waiter}");
    }
    assert_eq!(line(&store).await, waiters);
    assert!(turns(&mut store).await.is_empty());
    store
}

pub(crate) fn mode(owner: &str) -> &'static str {
    if owner.starts_with('r') { "read" } else { "write" }
}

pub(crate) fn ask(owner: &str) -> crate::scripts::support::call::Call {
    acquire(mode(owner), owner, 1)
}

pub(crate) fn end(owner: &str) -> crate::scripts::support::call::Call {
    release(mode(owner), owner, 0)
}

/// The owners in line, in order.
async fn line(store: &Store) -> Vec<String> {
    let line = store.cli.sorted_set(LINE).await.into_iter().map(|(entry, _)| entry);
    let owner = |entry: String| {
        let (mode_of, owner) = entry.split_once(':').unwrap();
        assert_eq!(mode_of, mode(owner));
        owner.to_owned()
    };
    // A second entry of each writer comes before the line's own.
    line.skip_while(|entry| entry != "fair").skip(1).map(owner).collect()
}

/// Whose turn was reported since the last look; what Redisson was reported is left out.
pub(crate) async fn turns(store: &mut Store) -> Vec<String> {
    let reported =
        store.reported_where().await.into_iter().filter(|(channel, _)| channel != CHANNEL);
    reported
        .map(|(channel, message)| {
            assert_eq!(message, "1");
            channel.strip_prefix(&format!("{TURN}:")).expect("a waiter's channel").to_owned()
        })
        .collect()
}

async fn dies(store: &Store, owner: &str) {
    store.set(&["ZADD", ALIVE, "XX", "1", &format!("{}:{owner}", mode(owner))]).await;
}

/// A line without waiters; it outlives the lock by a moment.
fn sentinel(lock_ttl: i64) -> Key {
    Key::new(LINE, "zset fair", lock_ttl + 1_000)
}

#[tokio::test]
async fn it_is_held_as_any_read_write_lock_and_known_by_its_line() {
    let mut store = Store::start().await;
    let first = store.granted(&write("w:1")).await;
    store.stands([lock("mode=write w:1:write=1", LEASE), sentinel(LEASE)]).await;
    assert!(within(store.cli.pttl(TOKEN).await, HOUR));
    assert!(store.granted(&write("w:1")).await > first, "requested again");
    assert_eq!(store.ask(&release("write", "w:1", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(store.reported().await, ["1"]);

    store.granted(&read("r:1")).await;
    store.granted(&read("r:2")).await;
    let keys = [
        lock("mode=read r:1=1 r:2=1", LEASE),
        read_key("r:1", 1, LEASE),
        read_key("r:2", 1, LEASE),
        sentinel(LEASE),
    ];
    store.stands(keys).await;
    assert_eq!(store.ask(&end("r:1")).await, ["RELEASED"]);
    assert_eq!(store.ask(&end("r:2")).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(store.reported().await, ["0"]);
    assert_eq!(store.ask(&end("r:2")).await, ["GONE"]);
}

#[tokio::test]
async fn readers_before_a_writer_enter_together_and_later_ones_wait() {
    let mut store = in_line(&["r:1", "r:2", "w:3", "r:4", "w:5"]).await;
    assert_eq!(store.ask(&end("w:0")).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["r:1", "r:2"]);
    for not_yet in ["w:3", "r:4", "w:5", "r:6", "w:7"] {
        let call = ask(not_yet).with("place_ms", 0);
        assert_eq!(store.ask(&call).await[0], "BUSY", "{not_yet}");
    }
    // In whatever order they come.
    store.granted(&ask("r:2")).await;
    store.granted(&ask("r:1")).await;
    assert_eq!(turns(&mut store).await, ["r:2"; 0], "no waiter after them may enter");
    assert_eq!(line(&store).await, ["w:3", "r:4", "w:5"]);
    assert_eq!(store.refused(&ask("r:4"), "BUSY", PLACE).await, ["1"]);
    assert_eq!(store.ask(&end("r:1")).await, ["RELEASED"]);
    assert!(turns(&mut store).await.is_empty());
    assert_eq!(store.ask(&end("r:2")).await, ["FREED"]);
    for (writer, next) in [("w:3", "r:4"), ("r:4", "w:5")] {
        assert_eq!(turns(&mut store).await, [writer]);
        store.granted(&ask(writer)).await;
        assert_eq!(store.ask(&end(writer)).await, ["FREED"]);
        assert_eq!(line(&store).await[0], next);
    }
    store.granted(&ask("w:5")).await;
    assert_eq!(store.ask(&end("w:5")).await, ["FREED"]);
    store.stands([]).await;
}

#[tokio::test]
async fn a_reader_that_enters_wakes_the_next_one() {
    let mut store = in_line(&["r:1", "r:2", "r:3", "w:4"]).await;
    store.expire().await;
    dies(&store, "r:2").await;
    store.granted(&ask("r:1")).await;
    assert_eq!(turns(&mut store).await, ["r:3"]);
    store.granted(&ask("r:3")).await;
    assert!(turns(&mut store).await.is_empty());
    assert_eq!(line(&store).await, ["w:4"]);
}

#[tokio::test]
async fn no_more_than_a_hundred_readers_are_woken_at_once() {
    let mut store = in_line(&[]).await;
    for reader in 0..150 {
        store.ask(&ask(&format!("r:{reader}"))).await;
    }
    assert_eq!(store.ask(&end("w:0")).await, ["FREED"]);
    assert_eq!(turns(&mut store).await.len(), 100);
    store.granted(&ask("r:99")).await;
    assert_eq!(turns(&mut store).await, ["r:100"]);
}

#[tokio::test]
async fn a_repeated_call_keeps_and_renews_the_place() {
    let store = in_line(&["w:1", "r:2"]).await;
    let before = store.cli.sorted_set(LINE).await;
    for entry in ["write:w:1", "read:r:2"] {
        store.set(&["ZADD", ALIVE, &(store.now().await + 60_000).to_string(), entry]).await;
    }
    for key in [LINE, ALIVE] {
        store.set(&["PEXPIRE", key, "60000"]).await;
    }
    assert_eq!(store.refused(&ask("w:1"), "BUSY", LEASE).await, ["1"]);
    assert_eq!(store.refused(&ask("r:2"), "BUSY", PLACE).await, ["1"]);
    assert_eq!(store.cli.sorted_set(LINE).await, before);
    for entry in ["write:w:1", "read:r:2"] {
        let left = store.score(ALIVE, entry).await.unwrap() - store.now().await;
        assert!(within(left, PLACE), "{entry}: {left}");
    }
    assert!(within(store.cli.pttl(LINE).await, LEASE + 1_000));
    assert!(within(store.cli.pttl(ALIVE).await, PLACE));
}

#[tokio::test]
async fn arrival_is_numbered_by_redis_clock_and_always_later() {
    let store = in_line(&["w:1"]).await;
    let before = store.score(LINE, "write:w:1").await.unwrap();
    assert!((before - store.now().await * 1_000).abs() < 3_600_000_000, "{before}");
    // The clock was set back.
    let ahead = before + 9_000_000_000;
    store.set(&["ZADD", LINE, &ahead.to_string(), "write:w:1"]).await;
    store.ask(&ask("w:2")).await;
    assert_eq!(store.score(LINE, "write:w:2").await, Some(ahead + 1));
}

#[tokio::test]
async fn a_try_never_queues_and_overtakes_no_waiter() {
    let store = in_line(&["w:1"]).await;
    for owner in ["r:8", "w:9"] {
        let attempt = ask(owner).with("place_ms", 0);
        assert_eq!(store.refused(&attempt, "BUSY", PLACE).await, ["0"], "{owner}");
    }
    store.expire().await;
    for owner in ["r:8", "w:9"] {
        let attempt = ask(owner).with("place_ms", 0);
        assert_eq!(store.refused(&attempt, "BUSY", PLACE).await, ["0"], "{owner}");
    }
    assert_eq!(line(&store).await, ["w:1"]);
    // A waiter's last attempt is one of these.
    store.granted(&ask("w:1").with("place_ms", 0)).await;
    store.stands([lock("mode=write w:1:write=1", LEASE), sentinel(LEASE)]).await;
}

#[tokio::test]
async fn reentry_passes_the_queue_that_lives_as_long_as_the_lock() {
    let store = in_line(&["w:1", "r:2"]).await;
    for _asked in 0..2 {
        let again = acquire("write", "w:0", 2).with("lease", LONGER);
        assert_eq!(store.ask(&again).await, ["GRANTED", ""]);
    }
    assert_eq!(store.ask(&acquire("read", "w:0", 1)).await, ["GRANTED", ""]);
    assert!(within(store.cli.pttl(LOCK).await, LONGER));
    assert!(store.cli.pttl(LINE).await > store.cli.pttl(LOCK).await);
    assert_eq!(store.ask(&acquire("write", "w:1", 2)).await, ["LOST"]);
    assert_eq!(store.ask(&release("write", "w:0", 1)).await, ["RELEASED"]);

    let store = Store::start().await;
    store.granted(&ask("r:1")).await;
    store.refused(&ask("w:2"), "BUSY", LEASE).await;
    store.granted(&ask("r:1")).await;
    assert_eq!(store.ask(&acquire("read", "r:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&ask("r:3")).await[0], "BUSY");
}

#[tokio::test]
async fn a_renewal_keeps_lock_and_line_and_brings_a_lost_line_back() {
    for owner in ["r:1", "w:1"] {
        let store = Store::start().await;
        store.granted(&ask(owner)).await;
        for lost in [false, true] {
            if lost {
                store.set(&["DEL", LINE]).await;
            }
            let longer = renew(mode(owner), owner).with("lease", LONGER);
            assert_eq!(store.ask(&longer).await, ["RENEWED", "1"]);
            assert!(within(store.cli.pttl(LOCK).await, LONGER));
            assert!(within(store.cli.pttl(LINE).await, LONGER + 1_000), "{lost}");
            assert_eq!(store.cli.sorted_set(LINE).await, [("fair".to_owned(), 0.0)]);
        }
        for foreign in [&["SET", LINE, "x"][..], &["ZADD", LINE, "5", "x"]] {
            store.set(&["DEL", LINE]).await;
            store.set(foreign).await;
            assert_eq!(store.ask(&renew(mode(owner), owner)).await, ["RENEWED", "1"]);
            assert_eq!(store.cli.pttl(LINE).await, FOREVER, "it is a foreign key");
        }
        assert_eq!(store.ask(&renew(mode(owner), "x:9")).await, ["RENEWED", "0"]);
        assert_eq!(store.ask(&renew("fair", owner)).await, ["INVALID"]);
    }
}

#[tokio::test]
async fn one_renewal_serves_many_locks() {
    let store = Store::start().await;
    store.granted(&ask("w:1")).await;
    let mut batch = renew("write", "w:1").with("lease", LONGER);
    let (keys, args) = (batch.keys.clone(), batch.args[1..].to_vec());
    for _twice in 0..2 {
        batch.keys.extend(keys.clone());
        batch.args.extend(args.clone());
    }
    batch.keys[3] = "lock:none".to_owned();
    assert_eq!(store.ask(&batch).await, ["RENEWED", "1", "0", "1"]);
}

#[tokio::test]
async fn a_waiter_that_leaves_admits_those_it_kept_out() {
    let mut store = Store::start().await;
    store.granted(&ask("r:0")).await;
    for waiter in ["w:1", "r:2", "r:3", "w:4"] {
        assert_eq!(store.ask(&ask(waiter)).await[0], "BUSY");
    }
    for leaver in ["w:4", "r:3"] {
        assert_eq!(store.ask(&leave(mode(leaver), leaver)).await, ["GONE"]);
        assert!(turns(&mut store).await.is_empty());
    }
    assert_eq!(store.ask(&leave("write", "w:1")).await, ["GONE"]);
    assert_eq!(turns(&mut store).await, ["r:2"]);
    store.granted(&ask("r:2")).await;
    assert_eq!(store.ask(&end("r:2")).await, ["RELEASED"]);
    assert_eq!(store.ask(&end("r:0")).await, ["FREED"]);
    store.stands([]).await;
}

#[tokio::test]
async fn dead_waiters_block_no_caller() {
    let mut store = in_line(&["w:1", "r:2", "w:3", "r:4"]).await;
    for dead in ["w:1", "w:3"] {
        dies(&store, dead).await;
    }
    assert_eq!(store.ask(&end("w:0")).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["r:2", "r:4"]);
    store.granted(&ask("r:4")).await;
    dies(&store, "r:2").await;
    assert_eq!(store.ask(&end("r:4")).await, ["FREED"]);
    store.stands([]).await;

    let store = in_line(&["w:1", "r:2"]).await;
    store.set(&["DEL", ALIVE]).await;
    store.expire().await;
    store.granted(&ask("w:9")).await;
    store.stands([lock("mode=write w:9:write=1", LEASE), sentinel(LEASE)]).await;
}

/// No release: the holder has died too.
#[tokio::test]
async fn a_request_skips_the_dead_and_reports_the_next() {
    let mut store = in_line(&["w:1", "r:2", "r:3", "w:4"]).await;
    store.expire().await;
    dies(&store, "w:1").await;
    for reported in [vec!["r:2", "r:3"], vec![]] {
        assert_eq!(store.ask(&ask("w:4")).await[0], "BUSY");
        assert_eq!(turns(&mut store).await, reported, "once");
    }
    assert_eq!(line(&store).await, ["r:2", "r:3", "w:4"]);
}

#[tokio::test]
async fn a_late_waiter_keeps_its_place_unless_it_was_missed() {
    let store = in_line(&["w:1", "w:2"]).await;
    dies(&store, "w:1").await;
    assert_eq!(store.refused(&ask("w:1"), "BUSY", LEASE).await, ["1"]);
    assert_eq!(line(&store).await, ["w:1", "w:2"]);
    dies(&store, "w:1").await;
    assert_eq!(store.refused(&ask("w:2"), "BUSY", LEASE).await, ["1"]);
    assert_eq!(store.refused(&ask("w:1"), "BUSY", PLACE).await, ["1"]);
    assert_eq!(line(&store).await, ["w:2", "w:1"]);
}

#[tokio::test]
async fn a_line_that_outlives_the_lock_does_so_for_its_places_alone() {
    let store = in_line(&["w:1"]).await;
    assert_eq!(store.ask(&end("w:0")).await, ["FREED"]);
    assert!(within(store.cli.pttl(LINE).await, PLACE + 1_000));
}

#[tokio::test]
async fn a_dead_holder_and_a_dead_line_leave_nothing_for_ever() {
    let store = in_line(&["w:1", "r:2"]).await;
    for key in store.cli.keys().await {
        assert!(store.cli.pttl(&key).await > 0, "{key}");
    }
}

#[tokio::test]
async fn a_downgrade_admits_readers_and_an_upgrade_keeps_the_queue() {
    let mut store = in_line(&["r:1", "r:2", "w:3", "r:4"]).await;
    assert_eq!(store.ask(&downgrade("w:0", 1, 0)).await, ["RELEASED"]);
    assert_eq!(turns(&mut store).await, ["r:1", "r:2"]);
    assert_eq!(store.ask(&upgrade("w:0", 0, 1)).await[0], "GRANTED", "no waiter has entered yet");
    let longer = upgrade("w:0", 0, 1).with("lease", LONGER);
    assert_eq!(store.ask(&longer).await[0], "GRANTED");
    assert!(within(store.cli.pttl(LINE).await, LONGER + 1_000));
    assert_eq!(store.ask(&downgrade("w:0", 1, 0)).await, ["RELEASED"]);
    store.granted(&ask("r:1")).await;
    assert_eq!(store.ask(&upgrade("w:0", 0, 1)).await[0], "BUSY");
    assert_eq!(store.ask(&downgrade("x:9", 1, 0)).await, ["LOST"]);
    assert_eq!(store.ask(&upgrade("x:9", 0, 1)).await, ["LOST"]);
}

#[tokio::test]
async fn a_writer_with_remaining_reads_admits_readers() {
    let mut store = in_line(&["r:1", "w:2"]).await;
    assert_eq!(store.ask(&acquire("read", "w:0", 1)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&end("w:0")).await, ["RELEASED"]);
    assert_eq!(turns(&mut store).await, ["r:1"]);
}
