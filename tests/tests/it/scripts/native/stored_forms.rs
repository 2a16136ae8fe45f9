//! The forms in which releases store locks. Replicas of two releases share locks during a rollout, so each form
//! is read for as long as a release that wrote it may run beside a newer one, and an unknown one is refused.
//!
//! A row is never edited. A new form is read by one release and written by the next one (docs/compatibility.md),
//! which adds a row, and leaves the old one to the first of these tests.

use crate::scripts::native::call::{
    acquire, convert, force_release, inspect, leave, permits, read, release, renew,
    request_release, transfer, write,
};
use crate::scripts::native::standing::stopped;
use crate::scripts::support::call::Call;
use crate::scripts::support::keys::{Key, LOCK};
use crate::scripts::support::store::Store;

struct Form {
    /// The commands that store it, word for word: the stopped clock shows 1700000000999, leases end at 1700000600999, and
    /// places at 1700000300999.
    stored: &'static [&'static str],
    /// The lock as an operator sees it.
    seen: &'static str,
    /// The calls that lead to it.
    written_by: fn() -> Vec<Call>,
}

const FORMS: [Form; 9] = [
    // Of 0.1.
    Form {
        stored: &["SET lock:k lt1ewa:1 PX 600000"],
        seen: "reentrant write 10m   1 [[a:1 0 1 10m]] []",
        written_by: || vec![acquire("a:1")],
    },
    Form {
        stored: &["SET lock:k lt1rra:1 PX 600000"],
        seen: "read_write read 10m   1 [[a:1 1 0 10m]] []",
        written_by: || vec![read("a:1")],
    },
    Form {
        stored: &["SET lock:k lt1rwa:1~1~1~1700000600999 PX 600000"],
        seen: "read_write write 10m   1 [[a:1 1 1 10m]] []",
        written_by: || vec![write("a:1"), read("a:1")],
    },
    Form {
        stored: &[
            "SET lock:k lt2rwa:1~0~1~1700000600999~1700000300999|w:b:2~1700000300999|r:c:3~1700000300999 PX 600050",
        ],
        seen: "read_write write 10m   1 [[a:1 0 1 10m]] [[b:2 write] [c:3 read]]",
        written_by: || vec![write("a:1"), write("b:2"), read("c:3")],
    },
    Form {
        stored: &[
            "SET lock:k lt2e-1700000300999|w:b:2~1700000001049|w:c:3~1700000300999 PX 300000",
        ],
        seen: "reentrant  -2   1 [] [[b:2 write] [c:3 write]]",
        written_by: || vec![acquire("a:1"), acquire("b:2"), acquire("c:3"), release("ew", "a:1")],
    },
    Form {
        stored: &[
            "SET lock:k lt1fwa:1~0~1~1700000600999 PX 600050",
            "ZADD lock_line:{lock:k} 1700000000999999 w:b:2 -1700000000999999 -w:b:2",
            "PEXPIRE lock_line:{lock:k} 300000",
            "ZADD lock_places:{lock:k} 1700000300999 w:b:2",
            "PEXPIRE lock_places:{lock:k} 300000",
        ],
        seen: "fair write 10m   1 [[a:1 0 1 10m]] [[b:2 write]]",
        written_by: || ["a:1", "b:2"].map(|owner| acquire(owner).with("kind", "f")).into(),
    },
    Form {
        stored: &[
            "SET lock:k lt1f- PX 300000",
            "ZADD lock_line:{lock:k} 1700000000999999 w:b:2 -1700000000999999 -w:b:2",
            "PEXPIRE lock_line:{lock:k} 300000",
            "ZADD lock_places:{lock:k} 1700000300999 w:b:2",
            "PEXPIRE lock_places:{lock:k} 300000",
        ],
        seen: "fair  -2   1 [] [[b:2 write]]",
        written_by: || {
            let [held, waits] = ["a:1", "b:2"].map(|owner| acquire(owner).with("kind", "f"));
            vec![held, waits, release("fw", "a:1")]
        },
    },
    Form {
        stored: &[
            "ZADD lock:k 0 #kind:r 2 #b:2 1700000600999 a:1 1700000600999 b:2",
            "PEXPIRE lock:k 600000",
        ],
        seen: "read_write read 10m   1 [[a:1 1 0 10m] [b:2 2 0 10m]] []",
        written_by: || vec![read("a:1"), read("b:2"), read("b:2").with("holds", 2)],
    },
    Form {
        stored: &[
            "ZADD lock:k 0 #kind:s 3 #b:2 1700000600999 a:1 1700000600999 b:2",
            "PEXPIRE lock:k 600000",
        ],
        seen: "semaphore write 10m   1 [[a:1 0 1 10m] [b:2 0 3 10m]] []",
        written_by: || vec![permits("a:1", 1, 4), permits("b:2", 3, 4)],
    },
];

async fn put(store: &Store, commands: &[&str]) {
    for command in commands {
        // A value has spaces where the row has `~`.
        let words: Vec<String> = command.split(' ').map(|word| word.replace('~', " ")).collect();
        store.set(&words.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
}

/// Times that are left in minutes: Redis' own clock is not stopped.
fn in_minutes(word: &str) -> String {
    let number = word.trim_end_matches(']');
    match number.parse::<i64>() {
        Ok(ms) if ms > 60_000 => word.replace(number, &format!("{}m", minutes(ms))),
        _ => word.to_owned(),
    }
}

fn minutes(ms: i64) -> i64 {
    (ms + 30_000) / 60_000
}

#[tokio::test]
async fn each_form_that_a_release_stored_is_read() {
    for form in FORMS {
        let store = stopped().await;
        put(&store, form.stored).await;
        let seen = store.ask(&inspect()).await.join(" ");
        let seen: Vec<_> = seen.split(' ').map(in_minutes).collect();
        assert_eq!(seen.join(" "), format!("STATE {}", form.seen), "{:?}", form.stored);
    }
}

async fn stored(store: &Store) -> Vec<Key> {
    let keys = store.stored().await.into_iter();
    keys.map(|key| Key { ttl: minutes(key.ttl), ..key }).collect()
}

#[tokio::test]
async fn each_form_that_is_written_is_one_of_them() {
    for form in FORMS {
        let (expected, store) = (stopped().await, stopped().await);
        put(&expected, form.stored).await;
        for call in (form.written_by)() {
            store.ask(&call).await;
        }
        let (expected, found) = (stored(&expected).await, stored(&store).await);
        assert_eq!(found, expected, "a new form is written one release after it is read");
    }
}

/// Forms that a later release may store.
const UNKNOWN: [&[&str]; 4] = [
    &["SET lock:k lt3ewa:1 PX 600000"],
    &["SET lock:k lt3e- PX 600000"],
    &["SET lock:k lt10ewa:1 PX 600000"],
    &["ZADD lock:k 0 #form:3 1700000600999 a:1", "PEXPIRE lock:k 600000"],
];

#[tokio::test]
async fn a_lock_of_an_unknown_form_is_refused_and_stays() {
    let calls: [(Call, &str); 12] = [
        (acquire("b:2"), "WRONG_KIND"),
        (acquire("a:1").with("holds", 2), "WRONG_KIND"),
        (read("b:2"), "WRONG_KIND"),
        (permits("b:2", 1, 9), "WRONG_KIND"),
        (renew("e", "write", "a:1"), "RENEWED 0"),
        (convert("a:1", "write", 0, 1), "LOST"),
        (transfer("e", "write", "a:1", "b:2"), "LOST"),
        (release("ew", "a:1"), "DONE GONE"),
        (leave("e", &[("b:2", "write")]), "LEFT"),
        (inspect(), "WRONG_KIND"),
        (force_release(), "WRONG_KIND"),
        (request_release(), "WRONG_KIND"),
    ];
    for unknown in UNKNOWN {
        let store = stopped().await;
        put(&store, unknown).await;
        let before = store.keys().await;
        for (call, reply) in &calls {
            store.replies(call, reply).await;
            store.unchanged_since(&before).await;
        }
        let set_nx: Option<String> = store.cli.query(&["SET", LOCK, "lt1ewb:2", "NX"]).await;
        assert_eq!(set_nx, None);
    }
}
