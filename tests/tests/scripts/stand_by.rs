//! Who is refused stands by for a release to give it the lock, and leaves when it is over.

use crate::call::{LEASE, MARK_LIFE};
use crate::grant::{FIRST_LEASE, KINDS, line};
use crate::keys::{LINE, lock, within};
use crate::store::STOPPED_MS;

#[tokio::test]
async fn who_stands_by_says_since_and_until_when_and_for_what() {
    for kind in KINDS {
        let store = kind.held().await;
        for (ask, waited) in [(1, 0), (2, 5_000)] {
            let reply = store.ask_with_stopped_clock(&kind.standing_by("b:2", ask, waited)).await;
            assert_eq!((&*reply[0], &*reply[2]), ("BUSY", "1"));
            let (since, until) = (STOPPED_MS - waited, STOPPED_MS + MARK_LIFE);
            let expected = format!("{since}:{until}:{ask}:3:{FIRST_LEASE}");
            assert_eq!(store.cli.hash(LINE).await["b:2"], expected);
            assert!(within(store.cli.pttl(LINE).await, MARK_LIFE));
        }
    }
}

#[tokio::test]
async fn who_does_not_wait_does_not_stand_by() {
    for kind in KINDS {
        let store = kind.held().await;
        let call = kind.standing_by("b:2", 1, 0).with("mark_ms", 0);
        assert_eq!(store.refused(&call, "BUSY", LEASE).await, ["0"]);
        assert!(line(&store).await.is_empty());
    }
}

#[tokio::test]
async fn who_gives_up_leaves_and_is_not_given_it() {
    for kind in KINDS {
        let store = kind.held().await;
        kind.stands_by(&store, "b:2", 0).await;
        let gives_up = (kind.release)("b:2", 0).with("marked", 1).after_grants("");
        assert_eq!(store.ask(&gives_up).await, ["GONE"]);
        assert!(line(&store).await.is_empty());
        kind.freed(&store, "0").await;
        store.stands([]).await;
    }
}

#[tokio::test]
async fn who_enters_by_itself_stands_by_no_more() {
    for kind in KINDS {
        let store = kind.held().await;
        kind.stands_by(&store, "b:2", 1).await;
        store.expire().await;
        store.granted(&kind.standing_by("b:2", 2, 2)).await;
        store.stands([lock(&(kind.held)("b:2"), LEASE)]).await;
    }
}

#[tokio::test]
async fn who_stands_back_stands_by() {
    for kind in KINDS {
        let store = kind.held().await;
        kind.stands_by(&store, "b:2", 2_000).await;
        store.expire().await;
        store.refused(&kind.standing_by("c:3", 1, 1_000), "YIELD", MARK_LIFE).await;
        assert_eq!(line(&store).await, ["b:2", "c:3"]);
    }
}

#[tokio::test]
async fn sixteen_stand_by_and_no_more() {
    for kind in KINDS {
        let store = kind.held().await;
        for number in 0..16 {
            kind.stands_by(&store, &format!("b:{number}"), 1_000).await;
        }
        let one_more = kind.standing_by("c:3", 1, 0);
        assert_eq!(store.refused(&one_more, "BUSY", LEASE).await, ["0"]);
        assert_eq!(line(&store).await.len(), 16);
        // Who is in keeps its place alive.
        kind.stands_by(&store, "b:7", 2_000).await;
    }
}

#[tokio::test]
async fn something_else_under_the_lines_name_stops_nobody() {
    for kind in KINDS {
        for foreign in [&["SET", LINE, "x"][..], &["HSET", LINE, "b:2", "x"], &["RPUSH", LINE, "x"]]
        {
            let mut store = kind.held().await;
            store.set(foreign).await;
            store.refused(&kind.standing_by("c:3", 1, 0).with("mark_ms", 0), "BUSY", LEASE).await;
            kind.freed(&store, "0").await;
            kind.tells_that_it_is_free(&mut store).await;
            assert_eq!(store.ask(&kind.standing_by("c:3", 2, 5)).await[0], "GRANTED");
        }
    }
}
