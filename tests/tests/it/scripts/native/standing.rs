//! The keys of a lock on the native wire, in words, and states to begin with.
//!
//! A time is written as the time left: more than a minute as `10m`, rounded up, less as `50ms`.
//! Leases here are of ten minutes, longer ones of thirty, and places of five.

use std::panic::Location;

use crate::scripts::native::call::{LINE, PLACES};
use crate::scripts::support::call::{Call, LEASE, PLACE_MS};
use crate::scripts::support::keys::{COUNTER, FOREVER, Key, LOCK, difference};
use crate::scripts::support::store::{STOPPED_MS, Store};

/// The first token with a stopped clock.
pub(crate) const TOKEN: i64 = STOPPED_MS * 1_000 + 999;

/// How much longer than its lease a lock with waiters lives.
pub(crate) const WAITED_MS: i64 = 50;

const MINUTE: i64 = 60_000;

/// The lock as a string.
pub(crate) fn text(value: &str, ttl: i64) -> Key {
    Key::new(LOCK, format!("string {value}"), ttl)
}

/// The lock as a sorted set: each member with its time, or with a number.
pub(crate) fn set(members: &str, ttl: i64) -> Key {
    Key::new(LOCK, format!("zset {members}"), ttl)
}

/// The line, in order of arrival.
pub(crate) fn line(places: &str) -> Key {
    Key::new(LINE, format!("line {places}"), PLACE_MS)
}

/// How long the places live; the first ends first.
pub(crate) fn places(places: &str) -> Key {
    Key::new(PLACES, format!("zset {places}"), PLACE_MS)
}

/// The message that wakes this waiter.
pub(crate) fn woken(owner: &str) -> (String, String) {
    let ((client, _), [.., tens, ones]) = (owner.split_once(':').unwrap(), owner.as_bytes()) else {
        panic!("{owner}")
    };
    let number = (10 * usize::from(*tens) + usize::from(*ones)) % 32;
    (format!("lock_wake:{{lock:k}}:{client}"), format!("{}1", "0".repeat(number + 1)))
}

/// A store with a stopped clock.
pub(crate) async fn stopped() -> Store {
    let store = Store::start().await;
    store.stop_clock();
    store
}

/// A store with a stopped clock, where these hold a lock and the others wait behind them.
pub(crate) async fn waiting(holders: &[Call], waiters: &[Call]) -> Store {
    let store = stopped().await;
    for holder in holders {
        assert_eq!(store.ask(holder).await[0], "GRANTED", "{holder:?}");
    }
    for waiter in waiters {
        let reply = store.ask(waiter).await;
        assert!(reply[0] != "GRANTED" && reply[2] == "1", "{waiter:?}: {reply:?}");
    }
    store
}

impl Store {
    /// Asserts that the reply is this, without its nonce.
    #[track_caller]
    pub(crate) fn replies(&self, call: &Call, expected: &str) -> impl Future<Output = ()> {
        let caller = Location::caller();
        async move {
            let reply = self.ask(call).await.join(" ");
            assert_eq!(reply, expected, "{caller}: {call:?}");
        }
    }

    /// Asserts that Redis has these keys and no others, except the counter, which has no TTL.
    #[track_caller]
    pub(crate) fn has(&self, expected: impl Into<Vec<Key>>) -> impl Future<Output = ()> {
        let caller = Location::caller();
        let mut expected = expected.into();
        expected.sort_by(|one, other| one.name.cmp(&other.name));
        async move {
            let stored = self.stored().await.into_iter();
            let mut found: Vec<_> = stored.flat_map(line_beside).collect();
            found.sort_by(|one, other| one.name.cmp(&other.name));
            if let Some(difference) = difference(&expected, &found) {
                panic!("{caller}: {difference}");
            }
        }
    }

    /// The keys, except the counter, with their times in words; a line is where Redis has it.
    pub(crate) async fn stored(&self) -> Vec<Key> {
        let mut stored = Vec::new();
        let now = self.scripts_now().await;
        for key in self.keys().await {
            if key.name == COUNTER {
                assert_eq!(key.ttl, FOREVER, "{key:?}");
                continue;
            }
            let content = self.in_words(&key, now).await;
            stored.push(Key { content, ..key });
        }
        stored
    }

    async fn in_words(&self, key: &Key, now: i64) -> String {
        if !key.content.starts_with("zset ") {
            return in_words(&key.content, now);
        }
        let members = self.cli.sorted_set(&key.name).await;
        if key.name.starts_with("lock_line:") {
            return in_order(&members);
        }
        let members = members.iter().map(|(member, score)| scored(member, *score as i64, now));
        format!("zset {}", members.collect::<Vec<_>>().join(" "))
    }

    /// Puts a lock there that is held, with waiters or re-entries, until a lease ends: `value` goes before
    /// that time. A line in the value stays.
    pub(crate) async fn put(&self, value: &str, lease: i64) {
        let value = self.with_line(&format!("{value} {}", STOPPED_MS + lease), " ").await;
        let ttl = lease.max(0) + WAITED_MS;
        self.set(&["SET", LOCK, &value, "PX", &ttl.to_string()]).await;
    }

    /// Puts a lock of this kind there that is free and has waiters.
    pub(crate) async fn put_free(&self, kind: &str) {
        let value = self.with_line(&format!("lt1{kind}-"), "").await;
        self.set(&["SET", LOCK, &value, "PX", &PLACE_MS.to_string()]).await;
    }

    /// The value with the line that the lock has in its value now, if it has one there.
    async fn with_line(&self, value: &str, before_line: &str) -> String {
        if self.cli.type_of(LOCK).await != "string" {
            return value.to_owned();
        }
        let now = self.cli.string(LOCK).await.unwrap_or_default();
        let Some((_, places)) = now.split_once('|') else { return value.to_owned() };
        let last = STOPPED_MS + PLACE_MS;
        format!("{}{before_line}{last}|{places}", value.replacen("lt1", "lt2", 1))
    }

    /// Puts a lock of this kind there that several hold for a lease.
    pub(crate) async fn put_set(&self, kind: &str, owners: &[&str]) {
        let deadline = (STOPPED_MS + LEASE).to_string();
        self.set(&["ZADD", LOCK, "0", &format!("#kind:{kind}")]).await;
        for owner in owners {
            self.set(&["ZADD", LOCK, &deadline, owner]).await;
        }
        self.set(&["PEXPIRE", LOCK, &LEASE.to_string()]).await;
    }

    /// The last token, as the counter has it.
    pub(crate) async fn counter(&self) -> i64 {
        self.cli.query(&["GET", COUNTER]).await
    }
}

/// A lock whose line is in its value, as if the line were beside it: so a test says which waiters there
/// are, and `short_line` where.
fn line_beside(lock: Key) -> Vec<Key> {
    let Some((before, places)) =
        lock.content.strip_prefix("string lt2").and_then(|value| value.split_once('|'))
    else {
        return vec![lock];
    };
    let held = before.rsplit_once(' ').map_or_else(
        || format!("{}-", before.split_once('-').expect("a lock that is free").0),
        |(held, _)| held.to_owned(),
    );
    let places: Vec<_> = places.split('|').filter_map(|place| place.split_once(' ')).collect();
    let mut ends: Vec<_> = places.iter().map(|(place, left)| format!("{place}@{left}")).collect();
    // As in a sorted set: the reserved ones end first.
    ends.sort_by_key(|end| (!end.ends_with("ms"), end.clone()));
    let names: Vec<_> = places.iter().map(|(place, _)| *place).collect();
    vec![
        Key { content: format!("string lt1{held}"), ..lock },
        line(&names.join(" ")),
        Key { name: PLACES.to_owned(), content: format!("zset {}", ends.join(" ")), ttl: PLACE_MS },
    ]
}

/// The time left, in words.
fn left(ms: i64) -> String {
    if ms > MINUTE { format!("{}m", (ms + MINUTE - 1) / MINUTE) } else { format!("{ms}ms") }
}

/// Replaces each time of a text by the time left.
pub(crate) fn in_words(text: &str, now: i64) -> String {
    text.split(' ').map(|word| without_time(word, now)).collect::<Vec<_>>().join(" ")
}

/// Replaces each time of a word by the time left.
fn without_time(word: &str, now: i64) -> String {
    let is_time = |part: &str| part.len() == 13 && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = word.split_inclusive(['-', '|']).map(|part| {
        let end = part.trim_end_matches(['-', '|']);
        if !is_time(end) {
            return part.to_owned();
        }
        left(end.parse::<i64>().unwrap() - now) + &part[end.len()..]
    });
    parts.collect()
}

/// A member with its time, or with another number. The time of a pause is negated.
fn scored(member: &str, score: i64, now: i64) -> String {
    match score {
        1_000_000_000_000.. => format!("{member}@{}", left(score - now)),
        ..=-1_000_000_000_000 => format!("{member}@-{}", left(-score - now)),
        _ => format!("{member}={score}"),
    }
}

/// The places in order. A place that writes is a member once more, with its number negated.
fn in_order(members: &[(String, f64)]) -> String {
    let (negated, places): (Vec<_>, Vec<_>) = members.iter().partition(|(_, number)| *number < 0.0);
    let mut twins: Vec<_> = negated.iter().map(|(name, number)| (name.clone(), -number)).collect();
    twins.reverse();
    let writers = places.iter().filter(|(place, _)| place.starts_with("w:"));
    let writers: Vec<_> = writers.map(|(place, number)| (format!("-{place}"), *number)).collect();
    assert_eq!(writers, twins, "{members:?}");
    let names: Vec<_> = places.iter().map(|(place, _)| place.as_str()).collect();
    format!("line {}", names.join(" "))
}
