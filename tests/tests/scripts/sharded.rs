//! The form of the scripts for a cluster of Redis 7, where Redisson listens to shards.

use lock_core::__private::SHARDED_SCRIPTS;

use crate::call::{Call, acquire_write, release_write};
use crate::store::Store;

async fn ask(store: &Store, call: &Call) -> Vec<String> {
    let script = SHARDED_SCRIPTS.iter().find(|script| script.name == call.script).unwrap();
    store.ask_as(&store.cli, ["EVAL", script.text], call).await.unwrap()
}

#[tokio::test]
async fn a_release_is_told_on_channels_of_both_sorts() {
    let store = Store::start().await;
    assert_eq!(ask(&store, &acquire_write("a:1", 1)).await[0], "GRANTED");
    let before = store.cli.command_counts().await;
    assert_eq!(ask(&store, &release_write("a:1", 0)).await, ["FREED"]);
    let after = store.cli.command_counts().await;
    for command in ["publish", "spublish"] {
        let count = |counts: &std::collections::BTreeMap<String, u64>| {
            counts.get(command).copied().unwrap_or_default()
        };
        assert_eq!(count(&after) - count(&before), 1, "{command}");
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
