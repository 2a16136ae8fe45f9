//! Releases of several locks by one call of Redisson's wire: each as by its own, or left to it.

use crate::scripts::any::call::of;
use crate::scripts::plain::call as plain;
use crate::scripts::support::call::{
    Call, acquire_read, acquire_write, release_read, release_write,
};
use crate::scripts::support::keys::{Key, LINE, LOCK};
use crate::scripts::support::store::Store;

/// As the client sends them: without arguments that are the defaults.
fn together(calls: &[Call]) -> Call {
    let keys = calls.iter().flat_map(|call| call.keys.clone()).collect();
    let args = calls.iter().flat_map(|call| call.said().to_vec()).collect();
    Call { script: calls[0].script, keys, args }
}

async fn granted(store: &Store, call: &Call) {
    assert_eq!(store.ask(call).await[0], "GRANTED", "{call:?}");
}

/// Acquires and releases a lock of one shape.
struct Shape {
    acquire: fn(&str, u32) -> Call,
    release: fn(&str, u32) -> Call,
    message: &'static str,
}

const SHAPES: [Shape; 3] = [
    Shape { acquire: plain::acquire, release: plain::release, message: "0" },
    Shape { acquire: acquire_write, release: release_write, message: "1" },
    Shape { acquire: acquire_read, release: release_read, message: "0" },
];

#[tokio::test]
async fn free_ones_are_released_and_the_others_left_to_the_full_script() {
    for Shape { acquire, release, message } in SHAPES {
        let mut store = Store::start().await;
        for key in ["first", "twice", "awaited", "last"] {
            granted(&store, &of(key, acquire("a:1", 1))).await;
        }
        granted(&store, &of("twice", acquire("a:1", 2))).await;
        granted(&store, &of("others", acquire("b:2", 1))).await;
        store.set(&["SET", "lock:foreign", "words"]).await;
        let line = LINE.replace(LOCK, "lock:awaited");
        store.set(&["HSET", &line, "write:c:3", "1:9999999999999"]).await;
        let (before, _) = (store.keys().await, store.reported_where().await);
        let all = ["first", "twice", "awaited", "others", "foreign", "none", "last"];
        let all = all.map(|key| of(key, release("a:1", 0)));
        // The tests' own subscription receives each message.
        let words = |first: &str, last: &str| {
            format!("DONE 1:{first} 2:LEFT 3:LEFT 4:LEFT 5:LEFT 6:LEFT 7:{last}")
        };
        let reply = store.ask(&together(&all)).await.join(" ");
        assert_eq!(reply, words("FREED:1", "FREED:1"), "{}", all[0].script);
        let reported = store.reported_where().await;
        assert!(reported.iter().all(|(_, reported)| reported == message), "{reported:?}");
        let channels: Vec<_> = reported.into_iter().map(|(channel, _)| channel).collect();
        let channel = |call: &Call| {
            call.keys.iter().find(|key| key.starts_with("redisson_")).expect("its channel").clone()
        };
        assert_eq!(channels, [channel(&all[0]), channel(&all[6])]);
        let is_freed = |name: &str| {
            let is_of = |key: &str| name == key || name.starts_with(&format!("{{{key}}}:a:1"));
            is_of("lock:first") || is_of("lock:last")
        };
        let kept = before.into_iter().filter(|key| !is_freed(&key.name)).map(Key::timeless);
        store.stands(kept.collect::<Vec<_>>()).await;
        // Again nothing is there of those that were free.
        assert_eq!(store.ask(&together(&all)).await.join(" "), words("LEFT", "LEFT"));
        for (call, answer) in all.iter().zip(["GONE", "FREED", "FREED", "GONE", "GONE", "GONE"]) {
            assert_eq!(store.ask(call).await[0], answer, "{call:?}");
        }
    }
}

#[tokio::test]
async fn readers_among_many_and_those_whose_lease_has_ended_are_told_apart() {
    let store = Store::start().await;
    for key in ["many", "over"] {
        granted(&store, &of(key, acquire_read("a:1", 1))).await;
    }
    for reader in 0..12 {
        granted(&store, &of("many", acquire_read(&format!("b:{reader}"), 1))).await;
    }
    store.set(&["DEL", "{lock:over}:a:1:rwlock_timeout:1"]).await;
    let all = ["many", "over"].map(|key| of(key, release_read("a:1", 0)));
    assert_eq!(store.ask(&together(&all)).await, ["DONE", "1:RELEASED", "2:GONE:1"]);
}
