//! A release gives the lock to the next of those who stand by, and tells it.

use crate::call::{Call, LEASE, acquire_read, acquire_write, release_read, release_write};
use crate::keys::{CHANNEL, LINE, LOCK, LOCK_CHANNEL, MARK, TOKEN, lock, within};
use crate::plain_call;
use crate::store::Store;

/// A lock that a release can give to one.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) acquire: fn(&str, u32) -> Call,
    pub(crate) release: fn(&str, u32) -> Call,
    channel: &'static str,
    /// What is told where nobody stands by.
    freed: &'static str,
    /// The fields of its hash, with this holder.
    pub(crate) held: fn(&str) -> String,
}

pub(crate) const KINDS: [Kind; 2] = [
    Kind {
        acquire: plain_call::acquire,
        release: plain_call::release,
        channel: LOCK_CHANNEL,
        freed: "0",
        held: |owner| format!("{owner}=1"),
    },
    Kind {
        acquire: acquire_write,
        release: release_write,
        channel: CHANNEL,
        freed: "1",
        held: |owner| format!("{owner}:write=1 mode=write"),
    },
];

pub(crate) const FIRST_LEASE: i64 = 400_000;

impl Kind {
    /// Asks for the `ask`th time, having waited for this long.
    pub(crate) fn standing_by(self, owner: &str, ask: u32, waited_ms: i64) -> Call {
        let call = (self.acquire)(owner, 1).with("waited_ms", waited_ms);
        call.standing_by(&format!("{ask}:3:{FIRST_LEASE}"))
    }

    /// `a:1` holds it.
    pub(crate) async fn held(self) -> Store {
        let store = Store::start().await;
        store.granted(&(self.acquire)("a:1", 1)).await;
        store
    }

    pub(crate) async fn stands_by(self, store: &Store, owner: &str, waited_ms: i64) {
        let reply = store.ask(&self.standing_by(owner, 1, waited_ms)).await;
        assert_eq!((&*reply[0], &*reply[2]), ("BUSY", "1"), "{owner}");
    }

    /// `a:1` releases the lock that it was granted as the last of so many.
    pub(crate) async fn freed(self, store: &Store, row: &str) {
        let release = (self.release)("a:1", 0).after_grants(row);
        assert_eq!(store.ask(&release).await, ["FREED"]);
    }

    /// The one that has the lock now, for its first lease.
    async fn now_held_by(self, store: &Store, owner: &str) {
        let keys = store.keys().await;
        let found = keys.iter().find(|key| key.name == LOCK).expect("it is held");
        assert_eq!(found.content, format!("hash {}", (self.held)(owner)));
        assert!(within(found.ttl, FIRST_LEASE), "{found:?}");
    }

    /// What is told, and nothing else: that the lock is free.
    pub(crate) async fn tells_that_it_is_free(self, store: &mut Store) {
        let told = (self.channel.to_owned(), self.freed.to_owned());
        assert_eq!(store.told_where().await, [told]);
    }
}

pub(crate) async fn line(store: &Store) -> Vec<String> {
    store.cli.hash(LINE).await.into_keys().collect()
}

#[tokio::test]
async fn who_has_waited_longest_is_given_it_and_told() {
    for kind in KINDS {
        let mut store = kind.held().await;
        for (owner, waited) in [("b:2", 1_000), ("c:3", 3_000), ("d:4", 2_000)] {
            kind.stands_by(&store, owner, waited).await;
        }
        let before: u64 = store.cli.string(TOKEN).await.unwrap().parse().unwrap();
        kind.freed(&store, "4").await;
        kind.now_held_by(&store, "c:3").await;
        assert_eq!(line(&store).await, ["b:2", "d:4"]);
        assert!(!store.cli.exists(MARK).await, "it was of the one that has the lock now");
        let told = store.told_where().await;
        let [(channel, message)] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(channel, "lock_granted:c");
        let parts: Vec<&str> = message.split(' ').collect();
        let &[owner, ask, token, row] = parts.as_slice() else { panic!("{message}") };
        assert_eq!((owner, ask, row), ("c:3", "1", "5"));
        let token: u64 = token.parse().unwrap();
        assert!(token > before);
        let last: u64 = store.cli.string(TOKEN).await.unwrap().parse().unwrap();
        assert_eq!(last, token + 3, "so many are in reserve");
    }
}

#[tokio::test]
async fn who_was_given_it_may_ask_again_for_the_whole_lease() {
    for kind in KINDS {
        let store = kind.held().await;
        kind.stands_by(&store, "b:2", 0).await;
        kind.freed(&store, "0").await;
        let told = store.cli.string(TOKEN).await;
        let fresh = store.ask(&kind.standing_by("b:2", 2, 1)).await;
        assert_eq!(fresh[0], "GRANTED");
        assert!(fresh[1].parse::<u64>().unwrap() > told.unwrap().parse().unwrap());
        store.stands([lock(&(kind.held)("b:2"), LEASE)]).await;
    }
}

#[tokio::test]
async fn a_release_asked_again_touches_nothing() {
    for kind in KINDS {
        let store = kind.held().await;
        kind.stands_by(&store, "b:2", 0).await;
        kind.stands_by(&store, "c:3", 0).await;
        kind.freed(&store, "0").await;
        let before = store.keys().await;
        let again = (kind.release)("a:1", 0).after_grants("0");
        assert_eq!(store.ask(&again).await, ["GONE"]);
        store.unchanged_since(&before).await;
    }
}

#[tokio::test]
async fn who_looks_for_nobody_frees_it_and_all_are_told() {
    for kind in KINDS {
        for release in [(kind.release)("a:1", 0), (kind.release)("a:1", 0).after_grants("")] {
            let mut store = kind.held().await;
            kind.stands_by(&store, "b:2", 0).await;
            assert_eq!(store.ask(&release).await, ["FREED"]);
            assert!(!store.cli.exists(LOCK).await);
            assert_eq!(line(&store).await, ["b:2"]);
            kind.tells_that_it_is_free(&mut store).await;
        }
    }
}

#[tokio::test]
async fn after_sixteen_in_a_row_it_is_free() {
    for kind in KINDS {
        for (row, free) in [("15", false), ("16", true), ("17", true)] {
            let mut store = kind.held().await;
            kind.stands_by(&store, "b:2", 0).await;
            kind.freed(&store, row).await;
            assert_eq!(!store.cli.exists(LOCK).await, free, "{row}");
            if free {
                kind.tells_that_it_is_free(&mut store).await;
            }
        }
    }
}

#[tokio::test]
async fn after_the_last_of_a_row_ours_stand_back_for_a_moment() {
    for kind in KINDS {
        for (row, apart, stands_back) in
            [("16", 100_000, true), ("16", 0, false), ("3", 100_000, false)]
        {
            let store = kind.held().await;
            kind.stands_by(&store, "b:2", 0).await;
            let release = (kind.release)("a:1", 0).after_grants(row).with("apart", apart);
            assert_eq!(store.ask(&release).await, ["FREED"]);
            let asks = kind.standing_by("c:3", 1, 5_000);
            if stands_back {
                store.refused(&asks, "YIELD", apart).await;
                // Who passes others by passes it by too, and so does Redisson.
                assert_eq!(store.ask(&asks.with("yields", 0)).await[0], "GRANTED");
            } else {
                assert_ne!(store.ask(&asks).await[0], "YIELD", "{row} {apart}");
            }
        }
    }
}

#[tokio::test]
async fn something_else_under_the_marks_name_stays_as_it_is() {
    for kind in KINDS {
        let store = kind.held().await;
        store.set(&["SET", MARK, "5:write:b:2"]).await;
        let release = (kind.release)("a:1", 0).after_grants("16").with("apart", 1_000);
        assert_eq!(store.ask(&release).await, ["FREED"]);
        assert_eq!(store.cli.string(MARK).await.as_deref(), Some("5:write:b:2"));
    }
}

/// Until the listener to everything is gone, whatever is told is heard.
async fn only_listens(store: &Store, client: &str) -> redis::aio::PubSub {
    store.set(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
    let server = redis::Client::open(store.server.url()).unwrap();
    let mut hears = server.get_async_pubsub().await.unwrap();
    hears.subscribe(format!("lock_granted:{client}")).await.unwrap();
    hears
}

#[tokio::test]
async fn who_does_not_hear_is_passed_by() {
    for kind in KINDS {
        let store = kind.held().await;
        kind.stands_by(&store, "b:2", 2_000).await;
        kind.stands_by(&store, "c:3", 1_000).await;
        let _hears = only_listens(&store, "c").await;
        kind.freed(&store, "0").await;
        kind.now_held_by(&store, "c:3").await;
        assert!(line(&store).await.is_empty());
    }
}

/// It may hear all the same: whoever listens to a replica is not counted here.
#[tokio::test]
async fn who_is_not_counted_is_told_nothing() {
    for kind in KINDS {
        let mut store = kind.held().await;
        kind.stands_by(&store, "uncounted:1", 0).await;
        kind.freed(&store, "0").await;
        store.stands([]).await;
        kind.tells_that_it_is_free(&mut store).await;
    }
}

#[tokio::test]
async fn where_nobody_hears_it_is_free() {
    for kind in KINDS {
        let store = kind.held().await;
        kind.stands_by(&store, "b:2", 0).await;
        let _hears = only_listens(&store, "c").await;
        kind.freed(&store, "0").await;
        store.stands([]).await;
    }
}

#[tokio::test]
async fn whose_time_is_over_is_forgotten() {
    for kind in KINDS {
        let mut store = kind.held().await;
        let over = format!("1:{}:1:0:1000", store.now().await);
        store.set(&["HSET", LINE, "b:2", &over]).await;
        kind.freed(&store, "0").await;
        store.stands([]).await;
        kind.tells_that_it_is_free(&mut store).await;
    }
}

#[tokio::test]
async fn a_reader_that_has_waited_longer_comes_first() {
    let kind = KINDS[1];
    for (waited, reads) in [(5_000, true), (500, false)] {
        let mut store = kind.held().await;
        store.refused(&acquire_read("r:9", 1).with("waited_ms", waited), "BUSY", LEASE).await;
        // A place in line without the mark, as that of one who came later.
        let mark = store.cli.string(MARK).await.unwrap();
        kind.stands_by(&store, "b:2", 1_000).await;
        store.set(&["SET", MARK, &mark, "PX", "100000"]).await;
        kind.freed(&store, "0").await;
        assert_eq!(!store.cli.exists(LOCK).await, reads, "waited for {waited}");
        if reads {
            kind.tells_that_it_is_free(&mut store).await;
            assert_eq!(line(&store).await, ["b:2"], "it keeps its place");
        }
    }
}

#[tokio::test]
async fn nobody_gives_it_to_itself() {
    for kind in KINDS {
        let store = kind.held().await;
        store.set(&["HSET", LINE, "a:1", "1:9999999999999:1:0:1000"]).await;
        kind.freed(&store, "0").await;
        store.stands([]).await;
    }
}

#[tokio::test]
async fn a_token_that_is_none_leaves_it_free() {
    for kind in KINDS {
        let mut store = kind.held().await;
        kind.stands_by(&store, "b:2", 0).await;
        store.set(&["SET", TOKEN, "x"]).await;
        kind.freed(&store, "0").await;
        assert!(!store.cli.exists(LOCK).await);
        kind.tells_that_it_is_free(&mut store).await;
    }
}

#[tokio::test]
async fn at_the_memory_limit_it_is_given_on_all_the_same() {
    for kind in KINDS {
        let store = kind.held().await;
        kind.stands_by(&store, "b:2", 0).await;
        store.fill().await;
        kind.freed(&store, "0").await;
        kind.now_held_by(&store, "b:2").await;
    }
}

#[tokio::test]
async fn the_last_reader_gives_it_to_the_writer() {
    let writer = KINDS[1];
    for readers in [1, 2] {
        let store = Store::start().await;
        for reader in 0..readers {
            store.granted(&acquire_read(&format!("r:{reader}"), 1)).await;
        }
        writer.stands_by(&store, "b:2", 0).await;
        for reader in 0..readers {
            let release = release_read(&format!("r:{reader}"), 0).after_grants("0");
            let last = reader + 1 == readers;
            let expected = if last { "FREED" } else { "RELEASED" };
            assert_eq!(store.ask(&release).await, [expected]);
        }
        writer.now_held_by(&store, "b:2").await;
    }
}

#[tokio::test]
async fn what_is_released_inside_is_nobodys_yet() {
    for kind in KINDS {
        let store = kind.held().await;
        assert_eq!(store.ask(&(kind.acquire)("a:1", 2)).await, ["GRANTED", ""]);
        kind.stands_by(&store, "b:2", 0).await;
        let inner = (kind.release)("a:1", 1).after_grants("0");
        assert_eq!(store.ask(&inner).await, ["RELEASED"]);
        assert_eq!(line(&store).await, ["b:2"]);
        let held = store.keys().await.into_iter().find(|key| key.name == LOCK);
        assert_eq!(held.unwrap().content, format!("hash {}", (kind.held)("a:1")));
    }
}
