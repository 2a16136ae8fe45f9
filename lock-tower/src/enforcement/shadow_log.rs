//! The shadow log: one line for each request of a lock in shadow mode. docs/shadow-mode.md reads from
//! it what the lock would cost.
//!
//! It is the target `lock_tower::shadow` at the level `debug`. Its lines have hashes of the keys,
//! never the keys, and of paths.

use std::{
    sync::OnceLock,
    time::{SystemTime, UNIX_EPOCH},
};

use http::request::Parts;
use lock_core::{
    __private::{LockSpec, log_hashes},
    Kind, LockClient, LockKey, Mode,
};
use lock_policy::{__private::RequestKey, Enforce};
use tokio::time::Instant;
use tracing::{Level, level_filters::LevelFilter};

use crate::lock_settings::policy::Policy;

const TARGET: &str = "lock_tower::shadow";

/// A request at work, written to the log when it ends.
pub(crate) struct LoggedRequest {
    /// One for the keys of each kind of lock that the request has.
    lines: Vec<Line>,
    since: Instant,
}

struct Line {
    policy: String,
    kind: Kind,
    mode: Mode,
    keys: String,
    path: Option<String>,
    hashed_by: String,
    client: String,
    permits: Option<u32>,
    weight: Option<u32>,
    arrived_us: u64,
}

/// Whether the shadow log may be received: something receives lines of its level.
fn is_on() -> bool {
    // Not `tracing::enabled!`: with filters of single layers (tracing-subscriber) its answer for this
    // target would stay in force for the thread's next event, and another line would be lost.
    LevelFilter::current() >= Level::DEBUG
}

/// Returns the request's path if a lock with this enforcement may need it for the log.
pub(crate) fn path_of(parts: &Parts, enforce: Enforce) -> Option<String> {
    let measures = matches!(enforce, Enforce::Shadow | Enforce::Percent(0..100));
    (measures && is_on()).then(|| parts.uri.path().to_owned())
}

impl LoggedRequest {
    /// `None` if nothing receives the shadow log, and for a re-entry, which waits for nothing.
    pub(crate) fn begin(
        client: &LockClient,
        policy: &Policy,
        mode: Mode,
        keys: &[RequestKey],
        path: Option<&str>,
        is_reentry: impl FnOnce() -> bool,
    ) -> Option<Self> {
        if !is_on() || is_reentry() {
            return None;
        }
        let of_policy = policy.lock(mode);
        let mut groups: Vec<(LockSpec, Vec<LockKey>)> = Vec::new();
        for key in keys {
            let lock = key.own.unwrap_or(of_policy);
            match groups.iter_mut().find(|(known, _)| *known == lock) {
                Some((_, keys)) => keys.push(key.key.clone()),
                None => groups.push((lock, vec![key.key.clone()])),
            }
        }
        let since = Instant::now();
        let line = |(lock, mut keys): (LockSpec, Vec<LockKey>)| {
            // In the order in which the lock takes them.
            keys.sort();
            keys.dedup();
            let hashes = log_hashes(client, &keys, path);
            let of_semaphore = lock.kind == Kind::Semaphore;
            Line {
                policy: policy.name.to_string(),
                kind: lock.kind,
                mode: lock.mode,
                keys: hashes.keys.join(","),
                path: hashes.path,
                hashed_by: hashes.hashed_by,
                client: hashes.client,
                permits: of_semaphore.then_some(lock.permits),
                weight: Some(lock.weight).filter(|weight| of_semaphore && *weight != 1),
                arrived_us: unix_microseconds(since),
            }
        };
        Some(Self { lines: groups.into_iter().map(line).collect(), since })
    }
}

impl Drop for LoggedRequest {
    fn drop(&mut self) {
        let held = self.since.elapsed();
        for line in &self.lines {
            tracing::debug!(
                target: TARGET,
                policy = line.policy,
                kind = line.kind.as_str(),
                mode = line.mode.as_str(),
                keys = line.keys,
                path = line.path,
                hashed_by = line.hashed_by,
                client = line.client,
                permits = line.permits,
                weight = line.weight,
                arrived_us = line.arrived_us,
                held_us = u64::try_from(held.as_micros()).unwrap_or(u64::MAX),
                "a request in shadow mode"
            );
        }
    }
}

/// Returns a moment as microseconds since 1970. The system's clock is read once: a step of it would
/// change the order of the lines' requests.
fn unix_microseconds(moment: Instant) -> u64 {
    static START: OnceLock<(SystemTime, Instant)> = OnceLock::new();
    let (start, instant) = START.get_or_init(|| (SystemTime::now(), Instant::now()));
    // Other runtimes of a test may have paused clocks, which are earlier.
    let time = match moment.checked_duration_since(*instant) {
        Some(later) => *start + later,
        None => *start - instant.duration_since(moment),
    };
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
