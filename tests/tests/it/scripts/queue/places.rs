//! Places in line: which waiters take one, renew it and lose it.

use crate::scripts::any::call::inspect;
use crate::scripts::support::call::{
    LEASE, LONGER, PLACE_MS, acquire_read, acquire_write, renew_write,
};
use crate::scripts::support::keys::{LINE, lock, read, waiters, within};
use crate::scripts::support::store::Store;
use crate::scripts::support::waiter::{
    ALL_WAITERS, WAITERS, held, places, stand, waiting, waiting_writer,
};

/// The waiters in order, as `common/inspect` lists them.
async fn in_order(store: &Store) -> String {
    store.ask(&inspect()).await.pop().unwrap()
}

#[tokio::test]
async fn a_refused_waiter_takes_a_place_on_redis_clock() {
    for waiter in ALL_WAITERS {
        for waited in [0, 5_000] {
            let mut store = held(waiter).await;
            let call = waiter.after("b:2", waited);
            assert_eq!(store.refused(&call, "BUSY", LEASE).await, ["1"]);
            let expected = format!("{} {}..{PLACE_MS}", waiter.name_of("b:2"), -waited);
            assert_eq!(places(&store).await, [expected]);
            store.stands([lock(waiter.held, LEASE), waiters(&waiter.name_of("b:2"))]).await;
            assert!(store.reported_where().await.is_empty());
        }
    }
}

#[tokio::test]
async fn that_clock_goes() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    let before = store.now().await;
    let call = acquire_read("b:2", 1).with("waited_ms", 5_000);
    assert_eq!(store.refused(&call, "BUSY", LEASE).await, ["1"]);
    let place = store.cli.hash(LINE).await.remove("read:b:2").unwrap();
    let (since, until) = place.split_once(':').unwrap();
    let now = before..=store.now().await;
    assert!(now.contains(&(since.parse::<i64>().unwrap() + 5_000)), "{place}");
    assert!(now.contains(&(until.parse::<i64>().unwrap() - PLACE_MS)), "{place}");
}

#[tokio::test]
async fn a_waiter_renews_its_place_and_waits_since_when_it_came() {
    for waiter in ALL_WAITERS {
        let store = held(waiter).await;
        for (at, waited) in [0, 1_000, 90_000].into_iter().enumerate() {
            let now = 1_000 * i64::try_from(at).unwrap();
            assert_eq!(store.refused(&waiter.after("b:2", waited), "BUSY", LEASE).await, ["1"]);
            let expected = format!("{} 0..{}", waiter.name_of("b:2"), now + PLACE_MS);
            assert_eq!(places(&store).await, [expected]);
            store.pass(1_000);
        }
    }
}

#[tokio::test]
async fn each_waiter_has_one_and_the_longest_waiter_is_first() {
    let store = held(WAITERS[1]).await;
    for (call, waited) in [
        (acquire_write("b:2", 1), 5_000),
        (acquire_read("c:3", 1), 7_000),
        (acquire_write("d:4", 1), 6_000),
        // As long, but later.
        (acquire_read("e:5", 1), 5_000),
    ] {
        let call = call.with("waited_ms", waited);
        assert_eq!(store.refused(&call, "BUSY", LEASE).await, ["1"]);
    }
    store.stop_clock();
    assert_eq!(in_order(&store).await, "[[c:3 read] [d:4 write] [b:2 write] [e:5 read]]");
    // To wait on changes nothing.
    let again = acquire_write("b:2", 1).with("waited_ms", LONGER);
    assert_eq!(store.refused(&again, "BUSY", LEASE).await, ["1"]);
    assert_eq!(in_order(&store).await, "[[c:3 read] [d:4 write] [b:2 write] [e:5 read]]");
}

#[tokio::test]
async fn waiters_behind_readers_take_one_too() {
    let store = waiting_writer().await;
    let writer = acquire_write("c:3", 1);
    assert_eq!(store.refused(&writer, "BUSY", LEASE).await, ["1"]);
    let reader = acquire_read("d:4", 1);
    assert_eq!(store.refused(&reader, "YIELD", PLACE_MS).await, ["1"]);
    let line = waiters("read:d:4 write:b:2 write:c:3");
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE), line]).await;
}

#[tokio::test]
async fn a_caller_that_does_not_wait_takes_none_and_renews_none() {
    for waiter in ALL_WAITERS {
        let store = held(waiter).await;
        let attempt = |owner| waiter.after(owner, LONGER).with("place_ms", 0);
        assert_eq!(store.refused(&attempt("b:2"), "BUSY", LEASE).await, ["0"]);
        store.stands([lock(waiter.held, LEASE)]).await;

        let store = waiting(waiter).await;
        let before = store.keys().await;
        for owner in ["b:2", "c:3"] {
            assert_eq!(store.refused(&attempt(owner), "BUSY", LEASE).await, ["0"]);
            store.unchanged_since(&before).await;
        }
    }
    let store = waiting_writer().await;
    let before = store.keys().await;
    let reader = acquire_read("c:3", 1).with("place_ms", 0);
    assert_eq!(store.refused(&reader, "YIELD", PLACE_MS).await, ["0"]);
    let writer = acquire_write("c:3", 1).with("place_ms", 0);
    assert_eq!(store.refused(&writer, "BUSY", LEASE).await, ["0"]);
    store.unchanged_since(&before).await;
}

#[tokio::test]
async fn the_line_lives_as_long_as_its_longest_place() {
    for waiter in ALL_WAITERS {
        let store = held(waiter).await;
        for (owner, place, line) in
            [("b:2", PLACE_MS, PLACE_MS), ("c:3", 1_000, PLACE_MS), ("d:4", LONGER, LONGER)]
        {
            let call = (waiter.acquire)(owner, 1).with("place_ms", place);
            assert_eq!(store.refused(&call, "BUSY", LEASE).await, ["1"]);
            assert!(within(store.cli.pttl(LINE).await, line));
        }
    }
}

#[tokio::test]
async fn a_place_ends_and_the_next_waiter_sweeps_it_out() {
    for waiter in ALL_WAITERS {
        let store = held(waiter).await;
        let names = ["b:2", "c:3"].map(|owner| waiter.name_of(owner));
        stand(&store, &[(&names[0], -9_000, 1_000), (&names[1], -8_000, 1_001)]).await;
        store.pass(1_000);
        assert_eq!(in_order(&store).await, format!("[[c:3 {}]]", waiter.mode));
        assert_eq!(store.refused(&waiter.after("d:4", 0), "BUSY", LEASE).await, ["1"]);
        let expected = [
            format!("{} -8000..1001", names[1]),
            format!("{} 1000..{}", waiter.name_of("d:4"), 1_000 + PLACE_MS),
        ];
        assert_eq!(places(&store).await, expected);
        // The first comes again: now its own waiting time counts.
        assert_eq!(store.refused(&waiter.after("b:2", 2_000), "BUSY", LEASE).await, ["1"]);
        assert_eq!(
            in_order(&store).await,
            ["[", "]"].join(
                &["c:3", "b:2", "d:4"].map(|owner| format!("[{owner} {}]", waiter.mode)).join(" ")
            )
        );
    }
}

#[tokio::test]
async fn a_full_line_keeps_those_that_have_waited_longest() {
    for waiter in ALL_WAITERS {
        let store = held(waiter).await;
        let names: Vec<_> = (10..74).map(|number| waiter.name_of(&format!("w:{number}"))).collect();
        let full: Vec<_> =
            names.iter().zip(1..).map(|(name, at)| (&**name, at * 10, 1_000)).collect();
        stand(&store, &full).await;
        store.pass(700);
        let before = places(&store).await;
        assert_eq!(before.len(), 64);
        // The last one came at 640.
        for waited in [0, 60] {
            assert_eq!(store.refused(&waiter.after("x:1", waited), "BUSY", LEASE).await, ["0"]);
            assert_eq!(places(&store).await, before);
        }
        // Those that stand renew their places.
        assert_eq!(store.refused(&waiter.after("w:73", 60), "BUSY", LEASE).await, ["1"]);
        assert_eq!(store.refused(&waiter.after("x:1", 61), "BUSY", LEASE).await, ["1"]);
        let after = places(&store).await;
        assert_eq!(after.len(), 64);
        assert_eq!(after[..63], before[..63]);
        assert_eq!(after[63], format!("{} 639..{}", waiter.name_of("x:1"), 700 + PLACE_MS));
        assert_eq!(store.refused(&waiter.after("w:73", 60), "BUSY", LEASE).await, ["0"]);
        // A place that is over is free.
        store.set(&["HSET", LINE, &names[0], "1:2"]).await;
        assert_eq!(store.refused(&waiter.after("w:73", 60), "BUSY", LEASE).await, ["1"]);
        assert_eq!(places(&store).await.len(), 64);
    }
}

#[tokio::test]
async fn re_entry_renewal_and_a_look_leave_them_alone() {
    for waiter in WAITERS {
        let store = waiting(waiter).await;
        let line = store.cli.hash(LINE).await;
        store.granted(&acquire_write("a:1", 1)).await;
        assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
        assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
        assert_eq!(store.ask(&renew_write("a:1")).await, ["RENEWED", "1"]);
        assert_eq!(store.ask(&inspect()).await[0], "STATE");
        assert_eq!(store.cli.hash(LINE).await, line);
    }
}

#[tokio::test]
async fn a_holder_in_the_way_comes_before_the_line() {
    for waiter in ALL_WAITERS {
        let mut store = waiting(waiter).await;
        for waited in [0, LONGER] {
            let other = waiter.after("c:3", waited);
            assert_eq!(store.refused(&other, "BUSY", LEASE).await, ["1"]);
        }
        assert!(store.reported_where().await.is_empty());
    }
}
