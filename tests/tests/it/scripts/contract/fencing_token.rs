//! Fencing tokens: lib/next_token and on the native wire lib/token, through the scripts that grant.

use crate::scripts::any::call::of;
use crate::scripts::native::call::{
    self as native_call, acquire, acquire_all, convert, force_release, permits,
    read as native_read, release, write as native_write,
};
use crate::scripts::plain::call as plain_call;
use crate::scripts::support::call::{
    Call, HOUR, LONGER, acquire_read, acquire_write, downgrade, release_read, release_write,
    renew_write, upgrade,
};
use crate::scripts::support::keys::{COUNTER, FOREVER, LOCK, TOKEN, lock, read, within};
use crate::scripts::support::store::Store;

async fn now_us(store: &Store) -> u64 {
    let now: (u64, u64) = store.cli.query(&["TIME"]).await;
    now.0 * 1_000_000 + now.1
}

#[tokio::test]
async fn a_first_token_is_redis_time_in_microseconds() {
    let store = Store::start().await;
    let before = now_us(&store).await;
    let token = store.granted(&acquire_write("a:1", 1)).await;
    assert!((before..=now_us(&store).await).contains(&token), "{token}");
    assert!(within(store.cli.pttl(TOKEN).await, HOUR));
}

#[tokio::test]
async fn every_outermost_grant_has_a_greater_one() {
    let store = Store::start().await;
    let mut last = 0;
    let mut grows = |token: u64| {
        assert!(token > last, "{token} after {last}");
        last = token;
    };
    for round in 0..20 {
        let owner = format!("a:{round}");
        grows(store.granted(&acquire_read(&owner, 1)).await);
        grows(store.granted(&upgrade(&owner, 0, 1)).await);
        assert_eq!(store.ask(&downgrade(&owner, 1, 0)).await, ["RELEASED"]);
        assert_eq!(store.ask(&release_read(&owner, 0)).await, ["FREED"]);
        grows(store.granted(&acquire_write(&owner, 1)).await);
        assert_eq!(store.ask(&release_write(&owner, 0)).await, ["FREED"]);
    }
}

#[tokio::test]
async fn a_reservation_for_later_turns_is_exclusive() {
    for [first, next] in [
        [acquire_write("a:1", 1), acquire_write("b:2", 1)],
        [plain_call::acquire("a:1", 1), plain_call::acquire("b:2", 1)],
    ] {
        let store = Store::start().await;
        // Ahead of the clock, which does not count then.
        let ahead = now_us(&store).await + 1_000_000_000;
        store.set(&["SET", TOKEN, &ahead.to_string(), "PX", "600000"]).await;
        let granted = store.ask(&first.with("reserved_tokens", 30)).await;
        assert_eq!(granted, ["GRANTED", &(ahead + 1).to_string()]);
        assert_eq!(store.cli.string(TOKEN).await.unwrap(), (ahead + 31).to_string());
        store.expire().await;
        assert_eq!(store.granted(&next).await, ahead + 32);
    }
    let store = Store::start().await;
    for turns in ["-1", "1.5", "x", "1000001"] {
        let call = acquire_write("a:1", 1).with("reserved_tokens", turns);
        assert_eq!(store.ask(&call).await, ["INVALID"]);
    }
    store.stands([]).await;
    // Where the numbers end, all of them must fit.
    store.set(&["SET", TOKEN, "9007199254740960"]).await;
    assert_eq!(
        store.ask(&acquire_write("a:1", 1).with("reserved_tokens", 31)).await,
        ["WRONG_KIND"]
    );
    assert_eq!(store.ask(&acquire_write("a:1", 1).with("reserved_tokens", 30)).await[0], "GRANTED");
}

#[tokio::test]
async fn nothing_but_a_grant_moves_it() {
    let store = Store::start().await;
    let token = store.granted(&acquire_write("a:1", 1)).await.to_string();
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&renew_write("a:1")).await, ["RENEWED", "1"]);
    store.refused(&acquire_write("b:2", 1), "BUSY", crate::scripts::support::call::LEASE).await;
    assert_eq!(store.ask(&downgrade("a:1", 2, 0)).await, ["RELEASED"]);
    assert_eq!(store.cli.string(TOKEN).await.unwrap(), token);
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["FREED"]);
    assert_eq!(store.cli.string(TOKEN).await.unwrap(), token);
}

#[tokio::test]
async fn the_last_one_counts_after_the_lock_has_expired() {
    let store = Store::start().await;
    // Ahead of the clock, so that the clock alone would go back.
    let ahead = now_us(&store).await + 1_000_000_000;
    store.set(&["SET", TOKEN, &ahead.to_string(), "PX", "600000"]).await;
    assert_eq!(store.granted(&acquire_write("a:1", 1)).await, ahead + 1);
    assert!(within(store.cli.pttl(TOKEN).await, HOUR));
    store.expire().await;
    assert_eq!(store.granted(&acquire_read("b:2", 1)).await, ahead + 2);
    assert_eq!(store.granted(&upgrade("b:2", 0, 1)).await, ahead + 3);
}

#[tokio::test]
async fn a_counter_of_redissons_goes_on_without_a_ttl() {
    for counter in ["0", "1", "41"] {
        let store = Store::start().await;
        store.set(&["SET", TOKEN, counter]).await;
        let before = now_us(&store).await;
        assert!(store.granted(&acquire_write("a:1", 1)).await >= before);
        assert_eq!(store.cli.pttl(TOKEN).await, FOREVER);
        let last: u64 = store.cli.query(&["INCR", TOKEN]).await;
        assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
        assert!(store.granted(&acquire_read("a:1", 1)).await > last);
        assert_eq!(store.cli.pttl(TOKEN).await, FOREVER);
    }
}

#[tokio::test]
async fn the_requested_ttl_is_set() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1).with("token_ttl", LONGER)).await;
    assert!(within(store.cli.pttl(TOKEN).await, LONGER));
    store.granted(&acquire_write("a:1", 1)).await;
    assert!(within(store.cli.pttl(TOKEN).await, HOUR));
    store.granted(&acquire_write("a:1", 1).with("token_ttl", 0)).await;
    assert_eq!(store.cli.pttl(TOKEN).await, FOREVER);
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.cli.pttl(TOKEN).await, FOREVER);
}

#[tokio::test]
async fn the_greatest_is_the_last_exact_lua_number() {
    let store = Store::start().await;
    store.set(&["SET", TOKEN, "9007199254740990"]).await;
    assert_eq!(store.granted(&acquire_write("a:1", 1)).await, 9_007_199_254_740_991);
    assert_eq!(store.ask(&acquire_write("a:1", 1)).await, ["WRONG_KIND"]);
    assert_eq!(store.cli.string(TOKEN).await.unwrap(), "9007199254740991");
}

#[tokio::test]
async fn what_is_no_token_grants_nothing() {
    let mut store = Store::start().await;
    let values = ["abc", "", "nan", "inf", "1e400", "-1", "1.5", "9223372036854775807"];
    let mut foreign: Vec<Vec<&str>> = values.map(|value| vec!["SET", TOKEN, value]).into();
    foreign.push(vec!["RPUSH", TOKEN, "1"]);
    foreign.push(vec!["HSET", TOKEN, "1", "1"]);
    for set in foreign {
        store.set(&["DEL", TOKEN]).await;
        store.granted(&acquire_read("b:2", 1)).await;
        store.set(&["DEL", TOKEN]).await;
        store.set(&set).await;
        let before = store.keys().await;
        assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["WRONG_KIND"], "{set:?}");
        assert_eq!(store.ask(&upgrade("b:2", 0, 1)).await, ["WRONG_KIND"], "{set:?}");
        store.unchanged_since(&before).await;
        store.stands([lock("b:2=1 mode=read", 600_000), read("b:2", 1, 600_000)]).await;

        assert_eq!(store.ask(&release_read("b:2", 0)).await, ["FREED"]);
        let before = store.keys().await;
        assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["WRONG_KIND"], "{set:?}");
        assert_eq!(store.ask(&acquire_write("a:1", 1)).await, ["WRONG_KIND"], "{set:?}");
        store.unchanged_since(&before).await;
        assert_eq!(store.reported().await, ["0"]);
    }
}

/// The token of a grant on the native wire, which the counter holds then.
async fn native_token(store: &Store, call: &Call) -> u64 {
    let reply = store.ask(call).await;
    assert!(["GRANTED", "FREED", "GONE"].contains(&reply[0].as_str()), "{call:?}: {reply:?}");
    let token = reply.last().unwrap();
    assert!(token.bytes().all(|digit| digit.is_ascii_digit()), "{reply:?}");
    assert_eq!(store.cli.string(COUNTER).await.as_ref(), Some(token));
    assert_eq!(store.cli.pttl(COUNTER).await, FOREVER);
    token.parse().unwrap()
}

/// Each call that gives a token out, behind the calls that prepare it.
fn native_grants() -> Vec<(Vec<Call>, Call)> {
    vec![
        (vec![], acquire("a:1")),
        (vec![], native_read("a:1")),
        (vec![native_read("b:2")], native_read("a:1")),
        (vec![native_read("a:1")], convert("a:1", "write", 0, 1)),
        (vec![], acquire_all(&[acquire("a:1")])),
        (vec![acquire("b:2")], force_release()),
        (vec![], force_release()),
    ]
}

/// Deletes the lock alone, and prepares the next call.
async fn prepare(store: &Store, before: &[Call]) {
    store.set(&["DEL", LOCK]).await;
    for call in before {
        assert_eq!(store.ask(call).await[0], "GRANTED");
    }
}

#[tokio::test]
async fn a_first_token_of_the_native_wire_is_redis_time_in_microseconds() {
    let store = Store::start().await;
    for (before, call) in native_grants() {
        prepare(&store, &before).await;
        // Without a counter the clock alone counts.
        store.set(&["DEL", COUNTER]).await;
        let earliest = now_us(&store).await;
        let token = native_token(&store, &call).await;
        assert!((earliest..=now_us(&store).await).contains(&token), "{call:?}: {token}");
    }
}

#[tokio::test]
async fn every_token_of_the_native_wire_is_greater_than_all_before() {
    let store = Store::start().await;
    // Ahead of the clock, so that the clock alone would go back.
    let mut last = now_us(&store).await + 1_000_000_000;
    store.set(&["SET", COUNTER, &last.to_string()]).await;
    for round in 0..10 {
        for (before, call) in native_grants() {
            prepare(&store, &before).await;
            last += u64::try_from(before.len()).unwrap();
            let token = native_token(&store, &call).await;
            assert_eq!(token, last + 1, "{round}: {call:?}");
            last = token;
        }
    }
    // Of several locks each has its own.
    store.set(&["DEL", LOCK]).await;
    let all = acquire_all(&[acquire("a:1"), of("x", native_read("a:2"))]);
    let tokens = [last + 1, last + 2].map(|token| token.to_string());
    assert_eq!(store.ask(&all).await[1..], tokens);
}

#[tokio::test]
async fn a_token_of_the_native_wire_is_greater_than_the_callers_greatest() {
    let store = Store::start().await;
    for (before, call) in native_grants() {
        prepare(&store, &before).await;
        store.set(&["DEL", COUNTER]).await;
        let known = now_us(&store).await + 1_000_000_000;
        let token = native_token(&store, &call.with("floor", known)).await;
        assert_eq!(token, known + 1, "{call:?}");
        // One that knows less than the counter.
        prepare(&store, &before).await;
        let more = u64::try_from(before.len()).unwrap();
        let token = native_token(&store, &call.with("floor", 7)).await;
        assert_eq!(token, known + 2 + more, "{call:?}");
    }
}

#[tokio::test]
async fn a_reservation_of_the_native_wire_for_later_turns_is_exclusive() {
    for call in [acquire("a:1"), native_read("a:1"), acquire_all(&[acquire("a:1")])] {
        let store = Store::start().await;
        let ahead = now_us(&store).await + 1_000_000_000;
        store.set(&["SET", COUNTER, &ahead.to_string()]).await;
        let granted = store.ask(&call.with("more", 30)).await;
        assert_eq!(granted, ["GRANTED", &(ahead + 1).to_string()]);
        assert_eq!(store.cli.string(COUNTER).await.unwrap(), (ahead + 31).to_string());
        store.expire().await;
        assert_eq!(native_token(&store, &acquire("b:2")).await, ahead + 32);
        // Where the numbers end, all of them must fit.
        store.expire().await;
        store.set(&["SET", COUNTER, "9007199254740960"]).await;
        let before = store.keys().await;
        assert!(store.ask(&call.with("more", 31)).await.contains(&"WRONG_KIND".to_owned()));
        store.unchanged_since(&before).await;
        assert_eq!(store.ask(&call.with("more", 30)).await[1], "9007199254740961");
    }
}

#[tokio::test]
async fn nothing_but_a_grant_moves_the_counter_of_the_native_wire() {
    let store = Store::start().await;
    let token = native_token(&store, &native_write("a:1")).await.to_string();
    let waiter = native_read("b:2");
    for (call, reply) in [
        (native_write("a:1").with("holds", 2), "GRANTED "),
        (native_read("a:1"), "GRANTED "),
        (waiter, "BUSY"),
        (native_call::renew("r", "write", "a:1"), "RENEWED 1"),
        (release("rw", "a:1").with("holds", 1), "DONE HELD"),
        (convert("a:1", "read", 1, 0), "RELEASED"),
        (native_call::transfer("r", "read", "a:1", "c:3"), "TRANSFERRED"),
        (native_call::inspect(), "STATE"),
        (native_call::request_release(), "ASKED 1"),
        (native_call::leave("r", &[("b:2", "read")]), "LEFT"),
        (release("rr", "c:3"), "DONE FREED"),
        (native_call::release_free("lt1rrc:3"), "DONE 1"),
        (permits("a:1", 1, 1), "GRANTED "),
        (native_call::count_permits(), "COUNTED 1"),
        (force_release(), "FREED "),
    ] {
        let found = store.ask(&call).await.join(" ");
        assert!(found.starts_with(reply), "{call:?}: {found}");
        assert_eq!(store.cli.string(COUNTER).await.as_ref(), Some(&token), "{call:?}");
    }
}

#[tokio::test]
async fn what_is_no_token_grants_nothing_on_the_native_wire() {
    let mut store = Store::start().await;
    let values =
        ["abc", "", "nan", "inf", "1e400", "-1", "1.5", "9007199254740991", "9223372036854775807"];
    let mut foreign: Vec<Vec<&str>> = values.map(|value| vec!["SET", COUNTER, value]).into();
    foreign.push(vec!["RPUSH", COUNTER, "1"]);
    foreign.push(vec!["HSET", COUNTER, "1", "1"]);
    for set in foreign {
        for (before, call) in native_grants() {
            store.set(&["DEL", COUNTER]).await;
            prepare(&store, &before).await;
            store.set(&["DEL", COUNTER]).await;
            store.set(&set).await;
            let keys = store.keys().await;
            let reply = store.ask(&call).await;
            assert_eq!(reply.last().unwrap(), "WRONG_KIND", "{set:?} {call:?}: {reply:?}");
            store.unchanged_since(&keys).await;
        }
    }
    // What draws no token does not look at it.
    store.set(&["DEL", LOCK]).await;
    store.replies(&permits("a:1", 1, 1), "GRANTED ").await;
    assert!(store.reported_where().await.is_empty());
}
