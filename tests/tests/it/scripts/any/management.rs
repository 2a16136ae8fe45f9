//! common/inspect, common/force_release, common/request_release and common/release_requested, on every kind.

use redis::Value;

use crate::scripts::any::call::{force_release, inspect, request_release, requested};
use crate::scripts::semaphore::call::permit;
use crate::scripts::support::call::{Call, LEASE, LONGER, acquire_read, acquire_write};
use crate::scripts::support::keys::{
    ALIVE, ASKED, CHANNEL, FOREVER, LEASES, LINE, LOCK, LOCK_CHANNEL, QUEUE, SEMAPHORE_CHANNEL,
    TOKEN, TURN, within,
};
use crate::scripts::support::store::Store;
use crate::scripts::{
    fair::call as fair_call, fair_read_write::call as fair_rw_call, plain::call as plain_call,
    semaphore::call as semaphore_call,
};

/// A reply in one line, nested parts in brackets, times left out of holders.
fn shown(value: &Value, depth: u32) -> String {
    match value {
        Value::Array(parts) => {
            let times = if depth == 2 && parts.len() == 4 { 1 } else { 0 };
            let parts = &parts[..parts.len() - times];
            let parts: Vec<_> = parts.iter().map(|part| shown(part, depth + 1)).collect();
            format!("[{}]", parts.join(" "))
        }
        Value::Int(number) => number.to_string(),
        value => redis::from_redis_value(value.clone()).unwrap(),
    }
}

/// Kind, mode, free permits, completeness, holders and waiters; the time left is `ms`, and every
/// holder's at most that.
async fn state(store: &Store, ms: i64) -> String {
    let before = store.keys().await;
    let call = inspect();
    let words = call.words(["EVAL", call.text()], "n");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let reply: Vec<Value> = store.cli.query(&words).await;
    store.unchanged_since(&before).await;
    let text: Vec<String> = reply.iter().map(|part| shown(part, 1)).collect();
    assert_eq!(text[..2], ["STATE", "n"], "{text:?}");
    let left = text[4].parse().unwrap();
    assert!(within(left, ms), "{left} of {ms} ms");
    let token = store.cli.string(TOKEN).await.unwrap_or_default();
    assert_eq!(text[6], token);
    let Value::Array(holders) = &reply[8] else { panic!("{text:?}") };
    for holder in holders {
        let Value::Array(parts) = holder else { panic!("{text:?}") };
        let Value::Int(left) = parts[3] else { panic!("{text:?}") };
        assert!(left == ms || (0..=ms).contains(&left), "{left} of {ms} ms");
    }
    format!("{}|{} {} {} {} {}", text[2], text[3], text[5], text[7], text[8], text[9])
}

const OWNER_AND_HEX: [(&str, &str); 2] = [
    ("permit-000000001", "7065726d69742d303030303030303031"),
    ("permit-000000002", "7065726d69742d303030303030303032"),
];

/// Sends the call and ignores the answer.
async fn ask_all(store: &Store, calls: &[Call]) {
    for call in calls {
        let _answer = store.ask(call).await;
    }
}

#[tokio::test]
async fn nothing_is_there() {
    let store = Store::start().await;
    assert_eq!(state(&store, -2).await, "| -1 1 [] []");
    store.granted(&plain_call::acquire("a:1", 1)).await;
    store.expire().await;
    assert_eq!(state(&store, -2).await, "| -1 1 [] []", "but a token");
}

#[tokio::test]
async fn a_read_write_lock() {
    let store = Store::start().await;
    ask_all(&store, &[acquire_write("w:1", 1), acquire_write("w:1", 2), acquire_read("w:1", 1)])
        .await;
    ask_all(&store, &[acquire_read("r:2", 1)]).await;
    let expected = "read_write|write -1 1 [[w:1 1 2]] [[r:2 read]]";
    assert_eq!(state(&store, LEASE).await, expected);
    store.expire().await;
    assert_eq!(state(&store, -2).await, "read_write| -1 1 [] [[r:2 read]]");
    store.granted(&acquire_read("r:2", 1)).await;
    store.granted(&acquire_read("r:3", 1).with("lease", LONGER)).await;
    store.lapse("r:2", 1).await;
    assert_eq!(state(&store, LONGER).await, "read_write|read -1 1 [[r:3 1 0]] []");
    store.lapse("r:3", 1).await;
    assert_eq!(state(&store, -2).await, "| -1 1 [] []");
}

#[tokio::test]
async fn a_plain_and_a_fenced_lock() {
    let store = Store::start().await;
    ask_all(&store, &[plain_call::acquire("a:1", 1), plain_call::acquire("a:1", 2)]).await;
    ask_all(&store, &[plain_call::acquire("b:2", 1)]).await;
    let expected = "write -1 1 [[a:1 0 2]] [[b:2 write]]";
    assert_eq!(state(&store, LEASE).await, format!("reentrant|{expected}"));
    store.set(&["PERSIST", TOKEN]).await;
    assert_eq!(state(&store, LEASE).await, format!("fenced|{expected}"));
    store.set(&["PERSIST", LOCK]).await;
    assert_eq!(state(&store, FOREVER).await, format!("fenced|{expected}"));
}

#[tokio::test]
async fn a_fair_lock() {
    let store = Store::start().await;
    let acquire = |owner| fair_call::acquire(owner, 1);
    ask_all(&store, &["a:1", "b:2", "c:3", "d:4"].map(acquire)).await;
    store.set(&["ZADD", ALIVE, "1", "c:3"]).await;
    let waiters = "[[b:2 write] [d:4 write]]";
    let expected = format!("fair|write -1 1 [[a:1 0 1]] {waiters}");
    assert_eq!(state(&store, LEASE).await, expected);
    store.expire().await;
    assert_eq!(state(&store, -2).await, format!("fair| -1 1 [] {waiters}"));
    for waiter in ["b:2", "d:4"] {
        store.set(&["ZADD", ALIVE, "1", waiter]).await;
    }
    assert_eq!(state(&store, -2).await, "| -1 1 [] []");
}

#[tokio::test]
async fn a_fair_read_write_lock() {
    let store = Store::start().await;
    ask_all(&store, &[fair_rw_call::read("r:1")]).await;
    assert_eq!(state(&store, LEASE).await, "fair_read_write|read -1 1 [[r:1 1 0]] []");
    ask_all(&store, &["w:2", "w:3"].map(fair_rw_call::write)).await;
    ask_all(&store, &[fair_rw_call::read("r:4")]).await;
    store.set(&["ZADD", ALIVE, "1", "write:w:3"]).await;
    let waiters = "[[w:2 write] [r:4 read]]";
    let expected = format!("fair_read_write|read -1 1 [[r:1 1 0]] {waiters}");
    assert_eq!(state(&store, LEASE).await, expected);
    store.expire().await;
    assert_eq!(state(&store, -2).await, format!("fair_read_write| -1 1 [] {waiters}"));
    store.set(&["DEL", ALIVE]).await;
    assert_eq!(state(&store, -2).await, "| -1 1 [] []");
}

#[tokio::test]
async fn a_semaphore() {
    let store = Store::start().await;
    ask_all(&store, &[semaphore_call::resize(5, 0)]).await;
    assert_eq!(state(&store, -2).await, "semaphore| 5 1 [] []");
    ask_all(&store, &[1, 2].map(|number| semaphore_call::acquire(number, 5))).await;
    let [one, two] = OWNER_AND_HEX.map(|(_, hex)| hex);
    assert_eq!(state(&store, LEASE).await, format!("semaphore| 3 1 [[{one} 0 1] [{two} 0 1]] []"));
    store.set(&["ZADD", LEASES, "1", &permit(1)]).await;
    assert_eq!(state(&store, LEASE).await, format!("semaphore| 4 1 [[{two} 0 1]] []"));
    store.set(&["ZADD", LEASES, "922337203685477", &permit(2)]).await;
    assert_eq!(state(&store, FOREVER).await, format!("semaphore| 4 1 [[{two} 0 1]] []"));
}

#[tokio::test]
async fn a_crowd_is_listed_up_to_a_limit() {
    let store = Store::start().await;
    crate::scripts::read_write::many_readers::add(&store, 3_000).await;
    let reply = state(&store, LEASE).await;
    assert!(reply.starts_with("read_write|read -1 0 [["), "{}", &reply[..40]);
    assert!((500..=1_024).contains(&reply.matches("[r:").count()));
}

#[tokio::test]
async fn something_else_under_the_name() {
    for foreign in [
        &["SET", LOCK, "x"][..],
        &["RPUSH", LOCK, "x"],
        &["HSET", LOCK, "name", "Ann"],
        &["HSET", LOCK, "mode", "x"],
        &["HSET", LOCK, "one", "1", "two", "2"],
    ] {
        let mut store = Store::start().await;
        store.set(foreign).await;
        let before = store.keys().await;
        for call in [inspect(), force_release(), request_release()] {
            assert_eq!(store.ask(&call).await, ["WRONG_KIND"], "{call:?} on {foreign:?}");
        }
        store.unchanged_since(&before).await;
        assert!(store.reported_where().await.is_empty());
    }
    // A token key that holds none is no reason to delete the lock and hand out no other.
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.set(&["SET", TOKEN, "x"]).await;
    let before = store.keys().await;
    assert_eq!(store.ask(&force_release()).await, ["WRONG_KIND"]);
    store.unchanged_since(&before).await;
}

/// The lock is free whatever its holder, the token is newer than any, and these channels got
/// messages.
async fn forced(store: &mut Store, reported: &[(&str, &str)]) {
    let _before = store.reported_where().await;
    let token: u64 = store.cli.string(TOKEN).await.unwrap().parse().unwrap();
    let reply = store.ask(&force_release()).await;
    assert_eq!(reply[0], "FREED");
    assert!(reply[1].parse::<u64>().unwrap() > token);
    assert_eq!(store.cli.string(TOKEN).await, Some(reply[1].clone()));
    let reported: Vec<_> =
        reported.iter().map(|(to, what)| ((*to).to_owned(), (*what).to_owned())).collect();
    assert_eq!(store.reported_where().await, reported);
    assert!(!store.cli.exists(LOCK).await);
    let again = store.ask(&force_release()).await;
    assert_eq!(again[0], "GONE");
    assert!(again[1] > reply[1]);
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn a_read_write_lock_is_taken_away_with_its_read_keys() {
    for holders in [
        vec![acquire_read("a:1", 1), acquire_read("a:1", 2), acquire_read("b:2", 1)],
        vec![acquire_write("a:1", 1), acquire_read("a:1", 1)],
    ] {
        let mut store = Store::start().await;
        ask_all(&store, &holders).await;
        forced(&mut store, &[(CHANNEL, "1")]).await;
        store.stands([]).await;
    }
}

#[tokio::test]
async fn a_lock_with_one_holder_is_taken_away() {
    let mut store = Store::start().await;
    store.granted(&plain_call::acquire("a:1", 1)).await;
    forced(&mut store, &[(LOCK_CHANNEL, "0")]).await;
    store.stands([]).await;
}

#[tokio::test]
async fn only_the_expected_holder_loses_it_or_is_requested() {
    let [(_, hex), _] = OWNER_AND_HEX;
    for (holder, owner) in [
        (acquire_write("a:1", 1), "a:1"),
        (acquire_read("a:1", 1), "a:1"),
        (plain_call::acquire("a:1", 1), "a:1"),
        (semaphore_call::acquire(1, 2), hex),
    ] {
        let mut store = Store::start().await;
        ask_all(&store, &[holder]).await;
        let (before, _) = (store.keys().await, store.reported_where().await);
        let another = |call: Call| call.with("holder", "c:3");
        assert_eq!(store.ask(&another(force_release())).await, ["GONE", ""], "{owner}");
        assert_eq!(store.ask(&another(request_release())).await, ["ASKED", "0"], "{owner}");
        store.unchanged_since(&before).await;
        assert!(store.reported_where().await.is_empty());
        let requested = request_release().with("holder", owner);
        assert_eq!(store.ask(&requested).await, ["ASKED", "1"], "{owner}");
        let freed = store.ask(&force_release().with("holder", owner)).await;
        assert_eq!(freed[0], "FREED", "{owner}");
    }
}

#[tokio::test]
async fn waiters_keep_their_places_and_are_woken() {
    let mut store = Store::start().await;
    ask_all(&store, &["a:1", "b:2", "c:3"].map(|owner| fair_call::acquire(owner, 1))).await;
    let next = format!("{LOCK_CHANNEL}:b:2");
    forced(&mut store, &[(LOCK_CHANNEL, "0"), (&next, "0")]).await;
    assert_eq!(store.cli.list(QUEUE).await, ["b:2", "c:3"]);
    assert_eq!(store.ask(&fair_call::acquire("c:3", 1)).await[0], "BUSY");
    store.granted(&fair_call::acquire("b:2", 1)).await;

    let mut store = Store::start().await;
    ask_all(&store, &["w:1", "w:2"].map(fair_rw_call::write)).await;
    let next = format!("{TURN}:w:2");
    forced(&mut store, &[(CHANNEL, "1"), (&next, "1")]).await;
    store.granted(&fair_rw_call::write("w:2")).await;
    forced(&mut store, &[(CHANNEL, "1")]).await;
    assert!(!store.cli.exists(LINE).await);

    let store = Store::start().await;
    store.stop_clock();
    store.granted(&acquire_write("a:1", 1)).await;
    store.refused(&acquire_write("b:2", 1), "BUSY", LEASE).await;
    assert_eq!(store.ask(&force_release()).await[0], "FREED");
    assert_eq!(store.ask(&acquire_write("c:3", 1)).await, ["BUSY", "50", "1"]);
    store.granted(&acquire_write("b:2", 1)).await;
}

#[tokio::test]
async fn all_permits_are_given_back() {
    let mut store = Store::start().await;
    ask_all(&store, &[1, 2].map(|number| semaphore_call::acquire(number, 3))).await;
    store.reported_where().await;
    assert_eq!(store.ask(&force_release()).await, ["FREED", ""]);
    assert_eq!(store.cli.string(LOCK).await.unwrap(), "3");
    let reported = (SEMAPHORE_CHANNEL.to_owned(), "3".to_owned());
    assert_eq!(store.reported_where().await, [reported]);
    assert_eq!(store.ask(&force_release()).await, ["GONE", ""]);
    assert!(!store.cli.exists(LEASES).await && !store.cli.exists(TOKEN).await);
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn a_lock_is_taken_away_at_the_memory_limit() {
    for holder in [acquire_read("a:1", 1), plain_call::acquire("a:1", 1)] {
        let store = Store::start().await;
        store.granted(&holder).await;
        store.fill().await;
        assert_eq!(store.ask(&force_release()).await[0], "FREED");
        store.stands([]).await;
    }
    let store = Store::start().await;
    ask_all(&store, &[semaphore_call::acquire(1, 3)]).await;
    store.fill().await;
    assert_eq!(store.ask(&force_release()).await, ["FREED", ""]);
    assert_eq!(store.cli.string(LOCK).await.unwrap(), "3");
}

#[tokio::test]
async fn only_holders_get_the_release_request() {
    let mut store = Store::start().await;
    assert_eq!(store.ask(&request_release()).await, ["ASKED", "0"]);
    store.stands([]).await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.granted(&acquire_read("c:3", 1)).await;
    store.lapse("c:3", 1).await;
    assert_eq!(store.ask(&request_release().with("ttl", LONGER)).await, ["ASKED", "2"]);
    assert_eq!(store.reported_where().await, [(ASKED.to_owned(), "1".to_owned())]);
    // A later request with a shorter time.
    assert_eq!(store.ask(&request_release().with("ttl", 60_000)).await, ["ASKED", "2"]);
    assert!(within(store.cli.pttl(ASKED).await, LONGER));
    for (owner, is) in [("a:1", "1"), ("b:2", "1"), ("c:3", "0"), ("", "0")] {
        assert_eq!(store.ask(&requested(owner)).await, ["ASKED", is], "{owner}");
    }
    assert_eq!(store.ask(&requested("a:1")).await, ["ASKED", "1"], "asking is no answer to it");
}

#[tokio::test]
async fn holders_of_every_kind_get_the_request() {
    let [(_, hex), _] = OWNER_AND_HEX;
    for (holder, owner) in [
        (acquire_write("a:1", 1), "a:1"),
        (plain_call::acquire("a:1", 1), "a:1"),
        (fair_call::acquire("a:1", 1), "a:1"),
        (fair_rw_call::write("a:1"), "a:1"),
        (semaphore_call::acquire(1, 2), hex),
    ] {
        let store = Store::start().await;
        ask_all(&store, &[holder]).await;
        assert_eq!(store.ask(&request_release()).await, ["ASKED", "1"]);
        assert_eq!(store.ask(&requested(owner)).await, ["ASKED", "1"]);
    }
}

#[tokio::test]
async fn something_else_under_the_name_of_the_request() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    store.set(&["SET", ASKED, "x"]).await;
    let before = store.keys().await;
    assert_eq!(store.ask(&request_release()).await, ["WRONG_KIND"]);
    assert_eq!(store.ask(&requested("a:1")).await, ["ASKED", "0"]);
    store.unchanged_since(&before).await;
}

/// Repeated release requests must not collect every owner that ever held the lock.
#[tokio::test]
async fn a_release_request_forgets_past_holders() {
    let store = Store::start().await;
    for owner in ["a:1", "b:2"] {
        store.granted(&plain_call::acquire(owner, 1)).await;
        assert_eq!(store.ask(&request_release().with("ttl", LONGER)).await, ["ASKED", "1"]);
        store.expire().await;
    }
    store.granted(&plain_call::acquire("c:3", 1)).await;
    let shorter = request_release().with("ttl", 60_000);
    assert_eq!(store.ask(&shorter).await, ["ASKED", "1"]);
    for (owner, is) in [("a:1", "0"), ("b:2", "0"), ("c:3", "1")] {
        assert_eq!(store.ask(&requested(owner)).await, ["ASKED", is], "{owner}");
    }
    assert!(within(store.cli.pttl(ASKED).await, LONGER));
}

/// For any requested time, it is kept as long as a holder may hold, and not forever.
#[tokio::test]
async fn a_request_stands_as_long_as_the_lease_of_the_holder() {
    for holder in [
        acquire_read("a:1", 1),
        plain_call::acquire("a:1", 1),
        fair_call::acquire("a:1", 1),
        semaphore_call::acquire(1, 2),
    ] {
        let store = Store::start().await;
        ask_all(&store, &[holder]).await;
        assert_eq!(store.ask(&request_release().with("ttl", 1_000)).await, ["ASKED", "1"]);
        assert!(within(store.cli.pttl(ASKED).await, LEASE));
    }
}
