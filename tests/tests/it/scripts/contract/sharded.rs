//! The form of the scripts for a cluster of Redis 7, where Redisson listens to shards.

use lock_core::test_util::SHARDED_SCRIPTS;

use crate::scripts::plain::call as plain_call;
use crate::scripts::support::call::{
    Call, acquire_read, acquire_write, release_read, release_write,
};
use crate::scripts::support::store::Store;
use crate::scripts::support::waiter::{ALL_WAITERS, waiting};

async fn ask(store: &Store, call: &Call) -> Vec<String> {
    let script = SHARDED_SCRIPTS.iter().find(|script| script.name == call.script).unwrap();
    store.ask_as(&store.cli, ["EVAL", script.text], call).await.unwrap()
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
    for script in SHARDED_SCRIPTS {
        let loaded = store.cli.try_query::<String>(&["SCRIPT", "LOAD", script.text]).await;
        assert!(loaded.is_ok(), "{}: {loaded:?}", script.name);
    }
}
