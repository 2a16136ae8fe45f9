//! ZooKeeper's client library is named by the store on ZooKeeper alone.

use crate::harness::documents::{files, read, root};

const LIBRARY: &str = "zookeeper_client";
const STORE: &str = "lock-zookeeper/src";
const CRATES: [&str; 9] = [
    "examples",
    "lock-core",
    "lock-key",
    "lock-macros",
    "lock-policy",
    "lock-store",
    "lock-tower",
    "lock-zookeeper",
    "lockctl",
];

#[test]
fn nothing_outside_the_store_on_zookeeper_knows_its_library() {
    let store = root().join(STORE);
    let sources = CRATES.iter().flat_map(|name| files(&root().join(name), "rs"));
    let (inside, outside): (Vec<_>, Vec<_>) = sources
        .filter(|path| read(path).contains(LIBRARY))
        .partition(|path| path.starts_with(&store));
    assert!(!inside.is_empty(), "{STORE} does not name {LIBRARY}");
    assert!(outside.is_empty(), "{LIBRARY} is named by {outside:?}");
}
