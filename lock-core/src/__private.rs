//! What the code that `#[distributed_lock]` writes calls. Not part of the public interface.

use std::{collections::BTreeSet, future::Future, time::Duration};

pub use lock_key::{HoleType, KeyPart, KeyWriter, ValueError};

use crate::{Acquire, IntoLockKey, LockError, MultiLock};
pub use crate::{
    Kind, LockClient, Mode,
    redis::{SCRIPTS, SHARDED_SCRIPTS, ScriptText},
    steps::{Answer, Ask, Seen, SeenHolder, Step, StepOwner, Steps, Unanswered},
};

/// What an attribute asks for.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Names the function in logs and problem documents.
    pub name: &'static str,
    /// The keys, from the function's arguments: all of them, or none.
    pub keys: Result<Vec<String>, ValueError>,
    /// Which kind of lock.
    pub kind: Kind,
    /// Read or write.
    pub mode: Mode,
    /// `None`: the client's.
    pub wait: Option<Duration>,
    /// `None`: the client's.
    pub lease: Option<Duration>,
    /// `None`: no limit.
    pub max_hold: Option<Duration>,
    /// `None`: renewed.
    pub renew: Option<bool>,
}

impl Spec {
    /// The acquisition that the attribute asks for.
    ///
    /// # Errors
    ///
    /// A value that cannot stand in a key.
    pub fn acquire(self, client: &LockClient) -> Result<Acquire<MultiLock>, ValueError> {
        let mut acquire = all_of(client, self.kind, self.mode, self.keys?);
        if let Some(wait) = self.wait {
            acquire = acquire.wait(wait);
        }
        if let Some(lease) = self.lease {
            acquire = acquire.lease(lease);
        }
        if let Some(max_hold) = self.max_hold {
            acquire = acquire.max_hold(max_hold);
        }
        Ok(match self.renew {
            Some(renew) => acquire.renew(renew),
            None => acquire,
        })
    }
}

/// Asks for all of these keys, in one mode and kind. Keys that are made from values may turn out
/// equal: each is locked once.
pub fn all_of<K: IntoLockKey + Ord>(
    client: &LockClient,
    kind: Kind,
    mode: Mode,
    keys: impl IntoIterator<Item = K>,
) -> Acquire<MultiLock> {
    let keys: BTreeSet<K> = keys.into_iter().collect();
    client.multi_lock(keys.into_iter().map(|key| client.lock(mode, key).kind(kind)))
}

/// Runs a function's body under its locks.
///
/// # Errors
///
/// See [`LockError`].
pub async fn run<F: Future>(
    client: &LockClient,
    spec: Spec,
    body: F,
) -> Result<F::Output, LockError> {
    spec.acquire(client)?.run(body).await
}
