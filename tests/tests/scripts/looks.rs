//! What a step of a lock that many want looks at, counted by Redis: nothing twice.

use crate::call::acquire_read;
use crate::crowd::cost;
use crate::grant::{KINDS, line};
use crate::keys::{LOCK, MARK};

#[tokio::test]
async fn who_is_refused_asks_for_the_time_and_the_mark_once() {
    for kind in KINDS {
        let store = kind.held().await;
        for (owner, waited) in [("b:2", 2_000), ("c:3", 1_000)] {
            let counts = cost(&store, &kind.standing_by(owner, 1, waited), "BUSY").await;
            assert_eq!((counts["time"], counts["get"]), (1, 1), "{owner}: {counts:?}");
        }
    }
    let store = KINDS[1].held().await;
    let reader = cost(&store, &acquire_read("d:4", 1), "BUSY").await;
    assert_eq!((reader["time"], reader["get"]), (1, 1), "{reader:?}");
}

#[tokio::test]
async fn a_release_of_one_that_has_waited_looks_at_the_mark_once() {
    for kind in KINDS {
        let store = kind.held().await;
        kind.stands_by(&store, "b:2", 1_000).await;
        let release = (kind.release)("a:1", 0).with("marked", 1).after_grants("0");
        let counts = cost(&store, &release, "FREED").await;
        // And the token.
        assert_eq!((counts["time"], counts["get"]), (1, 2), "{counts:?}");
        assert_eq!(store.cli.hash(LOCK).await.len(), (kind.held)("b:2").split(' ').count());
        assert!(!store.cli.exists(MARK).await, "it was of the one that has the lock now");
    }
}

#[tokio::test]
async fn what_it_has_seen_there_counts() {
    let kind = KINDS[1];
    let store = kind.held().await;
    kind.stands_by(&store, "b:2", 1_000).await;
    let before_it = store.now().await - 5_000;
    store.set(&["SET", MARK, &format!("{before_it}:read:r:9"), "PX", "100000"]).await;
    let release = (kind.release)("a:1", 0).with("marked", 1).after_grants("0");
    assert_eq!(store.ask(&release).await, ["FREED"]);
    assert!(!store.cli.exists(LOCK).await, "a reader has waited longer");
    assert_eq!(line(&store).await, ["b:2"], "it keeps its place");
}
