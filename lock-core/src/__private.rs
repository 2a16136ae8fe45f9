//! What the code that `#[distributed_lock]` writes calls. Not part of the public interface.

use std::{future::Future, time::Duration};

pub use lock_key::{HoleType, KeyPart, KeyWriter, ValueError};

use crate::{Acquire, IntoLockKey, LockError};
pub use crate::{
    LockClient, Mode,
    redis::{SCRIPTS, ScriptText},
};

/// What an attribute asks for.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Names the function in logs and problem documents.
    pub name: &'static str,
    /// The key, from the function's arguments.
    pub key: Result<String, ValueError>,
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
    pub fn acquire(self, client: &LockClient) -> Result<Acquire, ValueError> {
        let mut acquire = Acquire::new(client, self.mode, self.key?.into_lock_key());
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

/// Runs a function's body under its lock.
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
