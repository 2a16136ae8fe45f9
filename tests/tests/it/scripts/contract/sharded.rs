//! The form of the scripts for a cluster of Redis 7, where Redisson listens to shards.

use lock_core::test_util::{NATIVE_SCRIPTS, SHARDED_SCRIPTS, sent_text};

use crate::scripts::native::call as native_call;
use crate::scripts::plain::call as plain_call;
use crate::scripts::support::call::{
    Call, acquire_read, acquire_write, release_read, release_write,
};
use crate::scripts::support::store::Store;
use crate::scripts::support::waiter::{ALL_WAITERS, waiting};

async fn ask(store: &Store, call: &Call) -> Vec<String> {
    let script = SHARDED_SCRIPTS.iter().find(|script| script.name == call.script).unwrap();
    store.ask_as(&store.cli, ["EVAL", &sent_text(script.text)], call).await.unwrap()
}

#[tokio::test]
async fn a_release_is_published_on_channels_of_both_sorts() {
    let store = Store::start().await;
    for (acquire, release) in [
        (acquire_write("a:1", 1), release_write("a:1", 0)),
        (acquire_read("a:1", 1), release_read("a:1", 0)),
        (plain_call::acquire("a:1", 1), plain_call::release("a:1", 0)),
    ] {
        // A holder that may stand in line is not released by what is quick.
        for release in [release.clone(), release.with("queued", 1)] {
            assert_eq!(ask(&store, &acquire).await[0], "GRANTED");
            store.cli.reset_stats().await;
            assert_eq!(ask(&store, &release).await, ["FREED"]);
            let counts = store.cli.command_counts().await;
            for command in ["publish", "spublish"] {
                assert_eq!(counts.get(command), Some(&1), "{command}: {release:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_waiter_is_woken_on_channels_of_both_sorts() {
    for waiter in ALL_WAITERS {
        let store = waiting(waiter).await;
        store.cli.reset_stats().await;
        assert_eq!(ask(&store, &(waiter.give_back)("a:1", 0)).await, ["FREED"]);
        let counts = store.cli.command_counts().await;
        for command in ["publish", "spublish"] {
            assert_eq!(counts.get(command), Some(&1), "{command}");
        }
    }
}

/// Lua bounds the locals and the outer names of a function, which a script that uses many others meets.
#[tokio::test]
async fn redis_takes_every_script() {
    let store = Store::start().await;
    let native = NATIVE_SCRIPTS.iter().map(|script| (script.name, native_text(script.text)));
    let redisson = SHARDED_SCRIPTS.iter().map(|script| (script.name, script.text.to_owned()));
    for (name, text) in redisson.chain(native) {
        let text = sent_text(&text);
        assert!(!text.contains("--"), "{name}: a comment behind code is sent");
        let loaded = store.cli.try_query::<String>(&["SCRIPT", "LOAD", &text]).await;
        assert!(loaded.is_ok(), "{name}: {loaded:?}");
    }
}

/// Java listens to none of these: the channel of the shard is enough.
#[tokio::test]
async fn the_native_wire_publishes_on_channels_of_shards_alone() {
    let waiters = ["b:2", "c:3"].map(native_call::read);
    for (call, messages) in [
        (native_call::release("rw", "a:1"), 2),
        (native_call::convert("a:1", "read", 1, 0), 2),
        (native_call::leave("r", &[("a:1", "write")]), 2),
        (native_call::force_release(), 2),
        (native_call::request_release(), 1),
    ] {
        let store = Store::start().await;
        for before in [native_call::write("a:1")].iter().chain(&waiters) {
            store.ask(before).await;
        }
        store.cli.reset_stats().await;
        let text = native_text(call.text());
        store.ask_as(&store.cli, ["EVAL", &text], &call).await.unwrap();
        let counts = store.cli.command_counts().await;
        assert_eq!(counts.get("spublish"), Some(&messages), "{call:?}");
        assert_eq!(counts.get("publish"), None, "{call:?}");
    }
}

/// The form for a cluster.
fn native_text(text: &str) -> String {
    let (_, rest) = text.split_once("local SHARDED = false").expect("it begins so");
    format!("local SHARDED = true{rest}")
}
