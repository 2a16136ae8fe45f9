//! Fencing tokens: lib/next_token, through the scripts that grant.

use crate::scripts::plain::call as plain_call;
use crate::scripts::support::call::{
    HOUR, LONGER, acquire_read, acquire_write, downgrade, release_read, release_write, renew_write,
    upgrade,
};
use crate::scripts::support::keys::{FOREVER, TOKEN, lock, read, within};
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
        assert_eq!(store.told().await, ["0"]);
    }
}
