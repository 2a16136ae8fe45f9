//! The same of a lock on the native wire: see `native/scripts/lib/value.lua` and `line.lua`.

use lock_core::Mode;

use super::{
    contents::{Held, LockContents, Waiter, left_of, scores, token},
    names::LockNames,
};
use crate::redis::{Redis, Reply, Value};

/// Scores of a set below this count something; above it they are times.
const MOST_COUNT: i64 = 1_000_000;

pub(super) fn contents(redis: &Redis, names: &LockNames) -> LockContents {
    let held = match redis.entry(names.lock).map(|entry| &entry.value) {
        Some(Value::Text(text)) => {
            sole(text, redis.left_ms(names.lock), redis.now_ms()).into_iter().collect()
        }
        Some(Value::Sorted(_)) => several(redis, names),
        _ => Vec::new(),
    };
    LockContents { held, waiters: waiters(redis, names), token: token(redis, names) }
}

/// The reply to several releases, of which there is one, as if it were to that one alone.
pub(super) fn alone(reply: Reply) -> Reply {
    match reply.parts() {
        [done, nonce, status] if done.text() == Some("DONE") => {
            let status = match status.text() {
                Some("HELD") => Reply::Bulk(b"RELEASED".into()),
                Some("RESERVED") => Reply::Bulk(b"FREED".into()),
                _ => status.clone(),
            };
            Reply::Array(vec![status, nonce.clone()])
        }
        _ => reply,
    }
}

/// The reply to a request of several locks, with the words of the one that was refused as its parts.
pub(crate) fn in_parts(reply: Reply) -> Reply {
    match alone(reply) {
        Reply::Array(parts) if parts.first().and_then(Reply::text) == Some("REFUSED") => {
            let own = parts[3..].iter().flat_map(|own| own.clone().in_parts().parts().to_vec());
            Reply::Array(parts[..3].iter().cloned().chain(own).collect())
        }
        reply => reply,
    }
}

/// The value of a lock that is a string: the part before its line, and the line.
fn value_and_line(text: &[u8]) -> Option<(&str, &str)> {
    let text = std::str::from_utf8(text).ok()?;
    if let Some(text) = text.strip_prefix("lt1") {
        return Some((text, ""));
    }
    let (before, line) = text.strip_prefix("lt2")?.split_once('|')?;
    // Until when the key lives for the line.
    Some((before.trim_end_matches(|digit: char| digit.is_ascii_digit()).trim_end(), line))
}

/// The one holder of a string; none after its deadline.
fn sole(text: &[u8], ttl: i64, now: i64) -> Option<Held> {
    let (text, _) = value_and_line(text)?;
    let (mode, rest) = text.get(1..)?.split_at_checked(1)?;
    let words: Vec<&str> = rest.split(' ').collect();
    let (owner, reads, writes, left) = match (mode, words.as_slice()) {
        ("r", [owner]) => (owner, 1, 0, ttl),
        ("w", [owner]) => (owner, 0, 1, ttl),
        ("r" | "w", [owner, reads, writes, deadline]) => {
            let left = deadline.parse::<i64>().ok()? - now;
            (owner, reads.parse().ok()?, writes.parse().ok()?, left)
        }
        _ => return None,
    };
    let is_live = words.len() == 1 || left > 0;
    is_live.then(|| held(owner.as_bytes(), reads, writes, left))
}

fn held(owner: &[u8], reads: u32, writes: u32, left: i64) -> Held {
    let reads_left = if reads > 0 { (left, left) } else { (-2, -2) };
    Held { owner: owner.to_vec(), reads, writes, left, reads_left }
}

/// The members of a set whose leases are not over.
fn several(redis: &Redis, names: &LockNames) -> Vec<Held> {
    let members = scores(redis, names.lock);
    let is_semaphore = members.iter().any(|(member, _)| member == b"#kind:s");
    let live = members.iter().filter(|(_, score)| *score > MOST_COUNT.max(redis.now_ms()));
    live.map(|(owner, ends)| {
        let left = ends - redis.now_ms();
        let field = [b"#".as_slice(), owner].concat();
        let counted = members.iter().find(|(member, _)| *member == field);
        let reads = counted.map_or(1, |(_, reads)| u32::try_from(*reads).unwrap_or_default());
        if is_semaphore { held(owner, 0, 1, left) } else { held(owner, reads, 0, left) }
    })
    .collect()
}

/// In the order of the line, with those whose place is over.
fn waiters(redis: &Redis, names: &LockNames) -> Vec<Waiter> {
    let (alive, now) = (scores(redis, names.alive), redis.now_ms());
    let text = redis.entry(names.lock).and_then(|entry| match &entry.value {
        Value::Text(text) => value_and_line(text),
        _ => None,
    });
    // The line of the value, or else that beside it.
    let short =
        text.map_or("", |(_, line)| line).split('|').zip(1..).filter_map(|(one, number)| {
            let (place, ends) = one.split_once(' ')?;
            waiter(place.as_bytes(), number, ends.parse::<i64>().ok()? - now)
        });
    let long = scores(redis, names.line).into_iter().filter(|(_, number)| *number > 0);
    // The number of arrival is a time in microseconds.
    let long = long
        .filter_map(|(place, number)| waiter(&place, number / 1_000, left_of(&alive, &place, now)));
    short.chain(long).collect()
}

fn waiter(place: &[u8], number: i64, left: i64) -> Option<Waiter> {
    let (mode, owner) = match place.strip_prefix(b"r:") {
        Some(owner) => (Mode::Read, owner),
        None => (Mode::Write, place.strip_prefix(b"w:")?),
    };
    Some(Waiter { owner: owner.to_vec(), mode, since: number, left })
}
