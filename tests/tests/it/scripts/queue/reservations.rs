//! A lock that becomes free: for which waiters it is reserved, and which messages wake them.

use crate::scripts::any::call::force_release;
use crate::scripts::support::call::{
    Call, LEASE, LONGER, PLACE_MS, acquire_read, acquire_write, downgrade, release_read,
    release_write,
};
use crate::scripts::support::keys::{CHANNEL, LINE, LOCK, lock, read, waiters, with};
use crate::scripts::support::store::Store;
use crate::scripts::support::waiter::{
    ALL_WAITERS, RESERVED_MS, WAITERS, Waiter, held, places, stand, waiting, waiting_writer, woken,
};

/// What is left of a reserved place.
fn busy(ms: i64, stands: &str) -> [String; 3] {
    ["BUSY".to_owned(), ms.to_string(), stands.to_owned()]
}

/// `b:2` and then `c:3` stand in line; the lock was given back.
async fn reserved(waiter: Waiter) -> Store {
    let mut store = held(waiter).await;
    let names = ["b:2", "c:3"].map(|owner| format!("write:{owner}"));
    stand(&store, &[(&names[0], -9_000, PLACE_MS), (&names[1], -8_000, PLACE_MS)]).await;
    assert_eq!(store.ask(&(waiter.give_back)("a:1", 0)).await, ["FREED"]);
    assert_eq!(store.reported_where().await, waiter.wakes(&["b:2"]));
    let [first, second] = names;
    let expected = [format!("{first} -9000..50"), format!("{second} -8000..{PLACE_MS}")];
    assert_eq!(places(&store).await, expected);
    store
}

/// Those whose place is a writer's.
fn writers() -> impl Iterator<Item = Waiter> {
    ALL_WAITERS.into_iter().filter(|waiter| waiter.mode == "write")
}

#[test]
fn a_message_for_one_waiter_is_redissons_number_behind_zeros() {
    // 98 + 10 * 58 + 50 = 728 = 22 * 32 + 24.
    assert_eq!(woken("b:2", "1"), "00000000000000000000000001");
    assert_eq!(woken("b:2", "1").parse::<i64>().unwrap(), 1);
    assert_eq!(woken("b:2", "0").parse::<i64>().unwrap(), 0);
}

#[tokio::test]
async fn without_waiters_all_subscribers_are_woken() {
    for waiter in ALL_WAITERS {
        for queued in [0, 1] {
            let mut store = held(waiter).await;
            let release = (waiter.give_back)("a:1", 0).with("queued", queued);
            assert_eq!(store.ask(&release).await, ["FREED"]);
            assert_eq!(store.reported_where().await, waiter.wakes_all());
            store.stands([]).await;
        }
    }
}

#[tokio::test]
async fn no_other_caller_takes_a_reserved_lock_and_its_waiter_does() {
    for waiter in writers() {
        for yields in [0, 1] {
            let mut store = reserved(waiter).await;
            for owner in ["a:2", "c:3"] {
                let before = places(&store).await;
                let other = (waiter.acquire)(owner, 1).with("yields", yields);
                let attempt = other.with("place_ms", 0);
                assert_eq!(store.ask(&attempt).await, busy(50, "0"));
                store.pass(49);
                assert_eq!(store.ask(&attempt).await, busy(1, "0"));
                store.pass(-49);
                assert_eq!(places(&store).await, before);
                assert_eq!(store.ask(&other).await, busy(50, "1"));
            }
            assert!(store.reported_where().await.is_empty(), "it has been woken");
            store.granted(&(waiter.acquire)("b:2", 1).with("yields", yields)).await;
            let line = waiters("write:a:2 write:c:3");
            store.stands([lock(&waiter.held.replace("a:1", "b:2"), LEASE), line]).await;
            // It is not free: nothing is passed on.
            assert!(store.reported_where().await.is_empty());
        }
    }
}

#[tokio::test]
async fn readers_do_not_take_what_is_reserved_for_a_writer() {
    let mut store = reserved(WAITERS[1]).await;
    for yields in [0, 1] {
        let reader = acquire_read("d:4", 1).with("yields", yields);
        assert_eq!(store.ask(&reader).await, busy(50, "1"));
    }
    assert!(store.reported().await.is_empty());
    store.granted(&acquire_write("b:2", 1)).await;
}

#[tokio::test]
async fn a_waiter_that_does_not_come_in_time_is_passed_over() {
    for waiter in writers() {
        let mut store = reserved(waiter).await;
        store.pass(RESERVED_MS);
        // The next one is woken, and the lock reserved for it.
        let other = (waiter.acquire)("d:4", 1);
        assert_eq!(store.ask(&other).await, busy(PLACE_MS - 50, "1"));
        assert_eq!(store.reported_where().await, waiter.wakes(&["c:3"]));
        let expected =
            ["write:c:3 -8000..100".to_owned(), format!("write:d:4 50..{}", PLACE_MS + 50)];
        assert_eq!(places(&store).await, expected);
        // Once.
        assert_eq!(store.ask(&other).await, busy(50, "1"));
        assert!(store.reported_where().await.is_empty());
        // The one that came too late has no place: it is as new as it says.
        assert_eq!(store.ask(&(waiter.acquire)("b:2", 1)).await, busy(50, "1"));
        store.pass(49);
        store.granted(&(waiter.acquire)("c:3", 1)).await;
    }
}

#[tokio::test]
async fn the_next_waiter_takes_it_itself_then() {
    for waiter in writers() {
        let mut store = reserved(waiter).await;
        store.pass(RESERVED_MS);
        store.granted(&(waiter.acquire)("c:3", 1)).await;
        assert!(store.reported_where().await.is_empty());
    }
}

/// A lease that ends publishes nothing: the next caller passes the lock on.
#[tokio::test]
async fn any_caller_passes_on_a_free_unreserved_lock() {
    for waiter in ALL_WAITERS {
        let mut store = held(waiter).await;
        stand(&store, &[("write:b:2", -9_000, PLACE_MS)]).await;
        store.expire().await;
        for (left, reported) in [(PLACE_MS, waiter.wakes(&["b:2"])), (50, vec![])] {
            let other = (waiter.acquire)("c:3", 1).with("place_ms", 0);
            assert_eq!(store.ask(&other).await, busy(left, "0"));
            assert_eq!(store.reported_where().await, reported);
            assert_eq!(places(&store).await, ["write:b:2 -9000..50"]);
        }
    }
}

#[tokio::test]
async fn a_caller_that_has_waited_longer_takes_it_before_them() {
    for waiter in writers() {
        let store = reserved(waiter).await;
        let line = places(&store).await;
        assert_eq!(store.ask(&waiter.after("d:4", 9_000)).await, busy(50, "1"), "not longer");
        store.set(&["HDEL", LINE, "write:d:4"]).await;
        store.granted(&waiter.after("e:5", 9_001)).await;
        assert_eq!(places(&store).await, line);
    }
}

/// Five in line: two readers, a writer, a reader, a writer.
const LINE_OF_FIVE: [(&str, i64, i64); 5] = [
    ("read:b:2", -9_000, PLACE_MS),
    ("read:c:3", -8_000, PLACE_MS),
    ("write:d:4", -7_000, PLACE_MS),
    ("read:e:5", -6_000, PLACE_MS),
    ("write:f:6", -5_000, PLACE_MS),
];

/// The places of these five, with what the readers that are next still have.
fn five(readers: i64) -> Vec<String> {
    let mut five = LINE_OF_FIVE.map(|(name, since, place)| {
        let until = if ["read:b:2", "read:c:3"].contains(&name) { readers } else { place };
        format!("{name} {since}..{until}")
    });
    five.sort();
    five.into()
}

#[tokio::test]
async fn all_readers_before_the_next_writer_are_woken_together() {
    let mut store = held(WAITERS[1]).await;
    stand(&store, &LINE_OF_FIVE).await;
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    assert_eq!(store.reported_where().await, WAITERS[0].wakes(&["b:2", "c:3"]));
    assert_eq!(places(&store).await, five(50));
    // No writer, and no reader behind one, takes it.
    for other in [acquire_write("d:4", 1), acquire_write("g:7", 1)] {
        assert_eq!(store.ask(&other).await, busy(50, "1"));
    }
    assert_eq!(store.ask(&acquire_read("e:5", 1)).await, busy(PLACE_MS, "1"));
    assert!(store.reported().await.is_empty(), "they have been woken");
    store.granted(&acquire_read("c:3", 1)).await;
    // Now others read.
    let behind = store.ask(&acquire_read("e:5", 1)).await;
    assert_eq!(behind, ["YIELD", &PLACE_MS.to_string(), "1"]);
    store.granted(&acquire_read("b:2", 1)).await;
    let line = waiters("read:e:5 write:d:4 write:f:6 write:g:7");
    let keys = [read("b:2", 1, LEASE), read("c:3", 1, LEASE), line];
    store.stands(with(lock("b:2=1 c:3=1 mode=read", LEASE), keys)).await;
    // The last of them wakes the writer alone.
    store.reported().await;
    assert_eq!(store.ask(&release_read("c:3", 0)).await, ["RELEASED"]);
    assert!(store.reported().await.is_empty());
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["FREED"]);
    assert_eq!(store.reported().await, [woken("d:4", "0")]);
}

#[tokio::test]
async fn the_last_reader_passes_the_lock_on_whatever_it_leaves_behind() {
    let one = || acquire_read("a:1", 1);
    for (reads, lapsed, status) in [
        (vec![one()], None, "FREED"),
        (vec![one(), acquire_read("a:1", 2)], None, "FREED"),
        (vec![one(), acquire_read("d:4", 1)], Some("d:4"), "FREED"),
        (vec![one()], Some("a:1"), "GONE"),
        (vec![one(), acquire_read("a:1", 2)], Some("a:1"), "GONE"),
    ] {
        let mut store = Store::start().await;
        store.stop_clock();
        for read in &reads {
            assert_eq!(store.ask(read).await[0], "GRANTED");
        }
        if let Some(owner) = lapsed {
            store.lapse(owner, 1).await;
        }
        stand(&store, &[("write:b:2", -9_000, PLACE_MS)]).await;
        assert_eq!(store.ask(&release_read("a:1", 0)).await, [status], "{reads:?}");
        assert_eq!(store.reported().await, [woken("b:2", "0")]);
        assert_eq!(places(&store).await, ["write:b:2 -9000..50"]);
    }
}

#[tokio::test]
async fn a_reader_behind_no_writer_shares_reader_reservations() {
    let store = held(WAITERS[0]).await;
    stand(&store, &[("read:b:2", -9_000, PLACE_MS)]).await;
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    assert_eq!(store.ask(&acquire_write("c:3", 1).with("place_ms", 0)).await, busy(50, "0"));
    store.granted(&acquire_read("d:4", 1)).await;
    assert_eq!(places(&store).await, ["read:b:2 -9000..50"]);
    store.granted(&acquire_read("b:2", 1)).await;
    let readers = [read("b:2", 1, LEASE), read("d:4", 1, LEASE)];
    store.stands(with(lock("b:2=1 d:4=1 mode=read", LEASE), readers)).await;
}

#[tokio::test]
async fn a_lock_turned_to_read_goes_to_the_next_readers() {
    let becomes: [fn() -> Call; 2] = [|| downgrade("a:1", 1, 0), || release_write("a:1", 0)];
    for step in becomes {
        let mut store = held(WAITERS[0]).await;
        assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
        stand(&store, &LINE_OF_FIVE).await;
        assert_eq!(store.ask(&step()).await, ["RELEASED"]);
        assert_eq!(store.reported_where().await, WAITERS[0].wakes(&["b:2", "c:3"]));
        assert_eq!(places(&store).await, five(50));

        // Behind a writer there are none; Redisson's readers are still woken.
        let mut store = held(WAITERS[0]).await;
        assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
        stand(&store, &LINE_OF_FIVE[2..]).await;
        let before = places(&store).await;
        assert_eq!(store.ask(&step()).await, ["RELEASED"]);
        assert_eq!(store.reported_where().await, WAITERS[0].wakes_all());
        assert_eq!(places(&store).await, before);
    }
}

#[tokio::test]
async fn a_forced_release_is_passed_on_too() {
    for waiter in writers() {
        let mut store = held(waiter).await;
        stand(&store, &[("write:b:2", -9_000, PLACE_MS)]).await;
        assert_eq!(store.ask(&force_release()).await[0], "FREED");
        assert_eq!(store.reported_where().await, waiter.wakes(&["b:2"]));
        assert_eq!(places(&store).await, ["write:b:2 -9000..50"]);
    }
}

#[tokio::test]
async fn a_place_that_ends_sooner_is_not_made_longer() {
    for waiter in writers() {
        let mut store = held(waiter).await;
        stand(&store, &[("write:b:2", -9_000, 20)]).await;
        assert_eq!(store.ask(&(waiter.give_back)("a:1", 0)).await, ["FREED"]);
        assert_eq!(places(&store).await, ["write:b:2 -9000..20"]);
        assert_eq!(store.reported_where().await, waiter.wakes(&["b:2"]));
        assert_eq!(store.ask(&(waiter.acquire)("c:3", 1)).await, busy(20, "1"));
    }
}

/// A dead waiter's place would last for all of that hour.
#[tokio::test]
async fn a_clock_that_was_set_back_keeps_no_caller_out_for_long() {
    for waiter in writers() {
        let mut store = reserved(waiter).await;
        store.pass(-5_000);
        let other = (waiter.acquire)("d:4", 1).with("place_ms", 0);
        for (left, reported) in [(5_050, waiter.wakes(&["b:2"])), (50, vec![])] {
            assert_eq!(store.ask(&other).await, busy(left, "0"));
            assert_eq!(store.reported_where().await, reported);
        }
        store.pass(RESERVED_MS);
        assert_eq!(store.ask(&other).await, busy(PLACE_MS + 4_950, "0"));
        store.pass(RESERVED_MS);
        store.granted(&other).await;
    }
}

/// Or all that come later would go before them for as long as the clock was set back.
#[tokio::test]
async fn old_waiters_count_their_own_waiting_time() {
    for waiter in writers() {
        let mut store = reserved(waiter).await;
        store.pass(-3_600_000);
        store.granted(&(waiter.acquire)("d:4", 1)).await;
        for owner in ["b:2", "c:3"] {
            assert_eq!(store.refused(&waiter.after(owner, 9_000), "BUSY", LEASE).await, ["1"]);
            store.pass(1);
        }
        store.reported_where().await;
        assert_eq!(store.ask(&(waiter.release)("d:4", 0)).await, ["FREED"]);
        assert_eq!(store.reported_where().await, waiter.wakes(&["b:2"]));
        assert_eq!(store.ask(&(waiter.acquire)("e:5", 1)).await, busy(50, "1"));
        store.granted(&waiter.after("b:2", 9_000)).await;
    }
}

#[tokio::test]
async fn a_new_reader_yields_to_a_writer_while_others_read() {
    let mut store = waiting_writer().await;
    let before = store.keys().await;
    let attempt = acquire_read("c:3", 1).with("place_ms", 0);
    assert_eq!(store.refused(&attempt, "YIELD", PLACE_MS).await, ["0"]);
    store.unchanged_since(&before).await;
    assert!(store.reported().await.is_empty());
    for (word, value) in [("yields", 0), ("waited_ms", LONGER)] {
        let store = waiting_writer().await;
        store.granted(&acquire_read("c:3", 1).with(word, value)).await;
        let keys = [read("a:1", 1, LEASE), read("c:3", 1, LEASE), waiters("write:b:2")];
        store.stands(with(lock("a:1=1 c:3=1 mode=read", LEASE), keys)).await;
    }
}

#[tokio::test]
async fn a_reader_that_holds_already_does_not_yield() {
    let store = waiting_writer().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    // Its time over, it is a new reader like any other.
    store.lapse("a:1", 2).await;
    assert_eq!(store.refused(&acquire_read("a:1", 1), "YIELD", PLACE_MS).await, ["1"]);
}

#[tokio::test]
async fn a_writer_reenters_its_own_write_before_any_waiter() {
    for waiter in WAITERS {
        let store = waiting(waiter).await;
        store.granted(&acquire_write("a:1", 1)).await;
        assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
        assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    }
}

#[tokio::test]
async fn writers_in_turn_do_not_keep_a_reader_out() {
    let mut store = waiting(WAITERS[0]).await;
    store.stop_clock();
    stand(&store, &[("read:b:2", -9_000, PLACE_MS)]).await;
    // The writer comes again at once, before its waiter is awake.
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    assert_eq!(store.ask(&acquire_write("a:2", 1)).await, busy(50, "1"));
    store.granted(&acquire_read("b:2", 1)).await;
    assert_eq!(store.refused(&acquire_write("a:2", 1), "BUSY", LEASE).await, ["1"]);
    // Now it is the writer's turn.
    store.pass(1);
    assert_eq!(store.ask(&acquire_read("c:3", 1)).await[0], "YIELD");
    store.reported().await;
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["FREED"]);
    assert_eq!(store.reported().await, [woken("a:2", "0")]);
    store.granted(&acquire_write("a:2", 1)).await;
}

#[tokio::test]
async fn dead_readers_are_forgotten_and_the_lock_passed_on() {
    let mut store = Store::start().await;
    store.stop_clock();
    store.granted(&acquire_read("a:1", 1)).await;
    stand(&store, &[("write:b:2", -9_000, PLACE_MS)]).await;
    store.lapse("a:1", 1).await;
    assert_eq!(store.ask(&acquire_write("c:3", 1)).await, busy(PLACE_MS, "1"));
    assert!(!store.cli.exists(LOCK).await);
    assert_eq!(store.reported_where().await, [(CHANNEL.to_owned(), woken("b:2", "1"))]);
    store.granted(&acquire_write("b:2", 1)).await;
}
