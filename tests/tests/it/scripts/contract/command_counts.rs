//! The reads of a step of a contended lock, counted by Redis: nothing twice.

use crate::scripts::plain::call as plain_call;
use crate::scripts::read_write::many_readers::cost;
use crate::scripts::support::call::{acquire_read, acquire_write, release_write};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn a_refused_caller_reads_the_time_and_the_queue_once() {
    // A lock with one holder is read as a hash.
    for (acquire, hashes) in [(plain_call::acquire as fn(&str, u32) -> _, 2), (acquire_write, 1)] {
        let store = Store::start().await;
        store.granted(&acquire("a:1", 1)).await;
        for (owner, waited) in [("b:2", 2_000), ("c:3", 1_000)] {
            let ask = acquire(owner, 1).with("waited_ms", waited);
            let counts = cost(&store, &ask, "BUSY").await;
            assert_eq!((counts["time"], counts["hgetall"]), (1, hashes), "{owner}: {counts:?}");
        }
    }
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    let reader = cost(&store, &acquire_read("d:4", 1), "BUSY").await;
    assert_eq!((reader["time"], reader["hgetall"]), (1, 1), "{reader:?}");
}

#[tokio::test]
async fn a_release_looks_at_the_time_and_the_line_once() {
    for (acquire, release) in [
        (plain_call::acquire as fn(&str, u32) -> _, plain_call::release as fn(&str, u32) -> _),
        (acquire_write, release_write),
    ] {
        let store = Store::start().await;
        store.granted(&acquire("a:1", 1)).await;
        store.ask(&acquire("b:2", 1).with("waited_ms", 1_000)).await;
        let counts = cost(&store, &release("a:1", 0).with("queued", 1), "FREED").await;
        assert_eq!((counts["time"], counts["hgetall"]), (1, 1), "{counts:?}");
    }
}
