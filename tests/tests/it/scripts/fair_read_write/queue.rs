//! The line of a fair read/write lock: waiters that die, that leave, and that are woken.

use crate::scripts::fair_read_write::state::{
    PLACE, dies, empty_line, in_line, read, release, release_told, turn_of, write,
};
use crate::scripts::support::call::{Call, LEASE, LONGER};
use crate::scripts::support::keys::{ALIVE, LINE, LOCK, TURN, lock, within};
use crate::scripts::support::store::Store;

async fn held_with(waiters: &[Call]) -> Store {
    let store = Store::start().await;
    store.granted(&write("a:1")).await;
    for call in waiters {
        assert_eq!(store.ask(call).await[0], "BUSY");
    }
    store
}

/// However many died, one release finds the next that lives.
#[tokio::test]
async fn dead_waiters_block_no_request() {
    for dead in [1, 40] {
        let mut store = Store::start().await;
        store.granted(&write("a:1")).await;
        for waiter in 0..dead {
            let call = if waiter % 2 == 0 { write } else { read };
            store.ask(&call(&format!("d:{waiter}"))).await;
        }
        store.ask(&write("b:2")).await;
        let waiters = in_line(&store).await;
        for waiter in &waiters[..dead] {
            dies(&store, waiter).await;
        }
        assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["FREED"]);
        assert_eq!(store.reported_where().await, [release_told("1"), turn_of("b:2")]);
        assert_eq!(in_line(&store).await, ["write:b:2"]);
        store.granted(&write("b:2")).await;
    }
}

/// The holder died too, without a release.
#[tokio::test]
async fn a_request_skips_the_dead_and_calls_the_next() {
    let mut store = held_with(&[write("b:2"), read("c:3"), read("d:4"), write("e:5")]).await;
    store.expire().await;
    dies(&store, "write:b:2").await;
    assert_eq!(store.ask(&write("e:5")).await[0], "BUSY");
    assert_eq!(store.reported_where().await, [turn_of("c:3"), turn_of("d:4")]);
    assert_eq!(in_line(&store).await, ["read:c:3", "read:d:4", "write:e:5"]);
    assert_eq!(store.ask(&write("e:5")).await[0], "BUSY");
    assert_eq!(store.reported_where().await, [], "called once");
    store.granted(&read("d:4")).await;
}

/// One that stands in line without a sign of life, and the reverse.
#[tokio::test]
async fn half_a_place_is_a_dead_one() {
    let mut store = held_with(&[write("b:2"), write("c:3")]).await;
    store.set(&["ZREM", ALIVE, "write:b:2"]).await;
    store.set(&["ZADD", ALIVE, "9000000000000", "write:x:9"]).await;
    assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["FREED"]);
    assert_eq!(store.reported_where().await, [release_told("1"), turn_of("c:3")]);
    store.granted(&write("c:3")).await;
    assert_eq!(store.ask(&release("write", "c:3", 0)).await, ["FREED"]);
    store.stands([]).await;
}

#[tokio::test]
async fn a_returning_dead_waiter_keeps_its_place_or_is_last() {
    let store = held_with(&[write("b:2"), write("c:3")]).await;
    dies(&store, "write:b:2").await;
    // No script has met the dead waiter yet.
    assert_eq!(store.refused(&write("b:2"), "BUSY", LEASE).await, ["1"]);
    assert_eq!(in_line(&store).await, ["write:b:2", "write:c:3"]);
    dies(&store, "write:b:2").await;
    assert_eq!(store.refused(&write("c:3"), "BUSY", LEASE).await, ["1"]);
    assert_eq!(in_line(&store).await, ["write:c:3"]);
    assert_eq!(store.refused(&write("b:2"), "BUSY", PLACE).await, ["1"]);
    assert_eq!(in_line(&store).await, ["write:c:3", "write:b:2"]);
    assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["FREED"]);
    dies(&store, "write:c:3").await;
    store.granted(&write("c:3")).await;
}

#[tokio::test]
async fn all_died_and_the_line_ends_with_them() {
    let store = held_with(&[write("b:2"), read("c:3")]).await;
    assert!(within(store.cli.pttl(LINE).await, LEASE + 1_000));
    assert!(within(store.cli.pttl(ALIVE).await, PLACE));
    assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["FREED"]);
    // No longer for the lock's sake.
    assert!(within(store.cli.pttl(LINE).await, PLACE + 1_000));
    for waiter in ["write:b:2", "read:c:3"] {
        dies(&store, waiter).await;
    }
    store.granted(&write("d:4")).await;
    store.stands([lock("d:4:write=1 mode=write", LEASE), empty_line(LEASE)]).await;
}

#[tokio::test]
async fn a_writer_that_leaves_lets_the_readers_behind_it_in() {
    let mut store = Store::start().await;
    store.granted(&read("a:1")).await;
    for call in [write("b:2"), read("c:3"), read("d:4"), write("e:5"), read("f:6")] {
        assert_eq!(store.ask(&call).await[0], "BUSY");
    }
    // A waiter further back, whose place no other gains from.
    assert_eq!(store.ask(&release("write", "e:5", 0)).await, ["GONE"]);
    assert_eq!(store.reported_where().await, []);
    for reported in [vec![turn_of("c:3"), turn_of("d:4"), turn_of("f:6")], vec![]] {
        assert_eq!(store.ask(&release("write", "b:2", 0)).await, ["GONE"]);
        assert_eq!(store.reported_where().await, reported);
    }
    assert_eq!(in_line(&store).await, ["read:c:3", "read:d:4", "read:f:6"]);
}

#[tokio::test]
async fn the_last_to_leave_a_free_lock_leaves_nothing() {
    for (waiter, mode) in [(read("b:2"), "read"), (write("b:2"), "write")] {
        let mut store = held_with(&[waiter]).await;
        assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["FREED"]);
        assert_eq!(store.reported_where().await, [release_told("1"), turn_of("b:2")]);
        let stays = release(mode, "b:2", 0).with("queued", 0);
        assert_eq!(store.ask(&stays).await, ["GONE"]);
        assert_eq!(in_line(&store).await, [format!("{mode}:b:2")]);
        assert_eq!(store.ask(&release(mode, "b:2", 0)).await, ["GONE"]);
        store.stands([]).await;
        assert_eq!(store.reported_where().await, []);
    }
}

#[tokio::test]
async fn a_waiter_that_leaves_a_held_lock_leaves_the_line() {
    let store = held_with(&[write("b:2")]).await;
    assert_eq!(store.ask(&release("write", "b:2", 0)).await, ["GONE"]);
    store.stands([lock("a:1:write=1 mode=write", LEASE), empty_line(LEASE)]).await;
}

#[tokio::test]
async fn a_caller_without_a_place_overtakes_no_waiter() {
    let mut store = held_with(&[write("b:2")]).await;
    assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["FREED"]);
    store.reported_where().await;
    for call in [read("c:3"), write("c:3")] {
        let before = store.keys().await;
        let attempt = call.with("place_ms", 0);
        assert_eq!(store.refused(&attempt, "BUSY", PLACE).await, ["0"]);
        store.unchanged_since(&before).await;
    }
    assert_eq!(store.reported_where().await, []);
}

/// Readers that overlap never let the lock be free; the writer comes in all the same.
#[tokio::test]
async fn no_stream_of_readers_keeps_a_writer_out() {
    let store = Store::start().await;
    store.granted(&read("r:0")).await;
    store.refused(&write("w:1"), "BUSY", LEASE).await;
    for reader in 1..20 {
        assert_eq!(store.ask(&read(&format!("r:{reader}"))).await[0], "BUSY");
    }
    assert_eq!(store.ask(&release("read", "r:0", 0)).await, ["FREED"]);
    store.granted(&write("w:1")).await;
}

/// Nor writers that follow one another a reader: it has at most those before it that were there.
#[tokio::test]
async fn no_stream_of_writers_keeps_a_reader_out() {
    let store = held_with(&[write("w:1"), read("r:1")]).await;
    for next in 2..20 {
        assert_eq!(store.ask(&write(&format!("w:{next}"))).await[0], "BUSY");
    }
    assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["FREED"]);
    store.granted(&write("w:1")).await;
    assert_eq!(store.ask(&release("write", "w:1", 0)).await, ["FREED"]);
    store.granted(&read("r:1")).await;
}

/// One release calls a hundred readers; each that enters calls one more.
#[tokio::test]
async fn a_crowd_of_readers_is_called_bit_by_bit() {
    let readers: Vec<String> = (0..130).map(|reader| format!("r:{reader}")).collect();
    let calls: Vec<Call> = readers.iter().map(|reader| read(reader)).collect();
    let mut store = held_with(&calls).await;
    assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["FREED"]);
    let turns: Vec<_> = readers.iter().map(|reader| turn_of(reader)).collect();
    let reported = store.reported_where().await;
    assert_eq!(reported[0], release_told("1"));
    assert_eq!(reported[1..], turns[..100]);
    for (reader, call) in calls.iter().enumerate() {
        store.granted(call).await;
        let next = turns.get(reader + 1).cloned();
        assert_eq!(store.reported_where().await, next.into_iter().collect::<Vec<_>>());
    }
    assert_eq!(in_line(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_reader_that_enters_calls_no_writer_and_no_dead_one() {
    let mut store = held_with(&[read("b:2"), read("c:3"), read("d:4"), write("e:5")]).await;
    assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["FREED"]);
    store.reported_where().await;
    dies(&store, "read:c:3").await;
    store.granted(&read("b:2")).await;
    assert_eq!(store.reported_where().await, [turn_of("d:4")]);
    store.granted(&read("d:4")).await;
    assert_eq!(store.reported_where().await, []);
    assert_eq!(in_line(&store).await, ["write:e:5"]);
}

/// Numbers of arrival go on growing when Redis' clock has been set back.
#[tokio::test]
async fn the_order_is_not_the_clocks() {
    let store = held_with(&[write("b:2")]).await;
    // Four hundred years ahead, and one below what a number can count by one.
    store.set(&["ZADD", LINE, "9007199254740000", "write:b:2"]).await;
    for owner in ["z:3", "a:4"] {
        assert_eq!(store.ask(&write(owner)).await[0], "BUSY");
    }
    assert_eq!(in_line(&store).await, ["write:b:2", "write:z:3", "write:a:4"]);
    assert_eq!(store.score(LINE, "write:z:3").await, Some(9_007_199_254_740_001));
}

#[tokio::test]
async fn a_place_lasts_as_requested_on_redis_clock() {
    let store = held_with(&[]).await;
    let (before, call) = (store.now().await, write("b:2").with("place_ms", LONGER));
    assert_eq!(store.refused(&call, "BUSY", LEASE).await, ["1"]);
    let until = store.score(ALIVE, "write:b:2").await.unwrap();
    assert!((before + LONGER..=store.now().await + LONGER).contains(&until));
    assert!(within(store.cli.pttl(ALIVE).await, LONGER));
    assert!(within(store.cli.pttl(LINE).await, LONGER + 1_000));
    assert!(within(store.cli.pttl(LOCK).await, LEASE));
    assert!(!store.cli.exists(TURN).await, "only a channel");
}
