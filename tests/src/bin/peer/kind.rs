//! The kinds of locks, by the words that both programs know.

use std::str::FromStr;

use lock_core::{Acquire, InspectError, LockClient, Mode};

use crate::thread::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Reentrant,
    Fair,
    Fenced,
    Read,
    Write,
    /// Known to us alone: to Java these are the two above.
    FairRead,
    FairWrite,
    /// With this many permits.
    Semaphore(u32),
    /// All of the keys, which are separated by commas: `a,b` of the main store, or `a@0,b@1` of two.
    Multi,
    /// On a majority of the servers.
    Red,
}

impl FromStr for Kind {
    type Err = Failure;

    fn from_str(word: &str) -> Result<Self, Failure> {
        Ok(match word {
            "reentrant" => Self::Reentrant,
            "fair" => Self::Fair,
            "fenced" => Self::Fenced,
            "read" => Self::Read,
            "write" => Self::Write,
            "fair_read" => Self::FairRead,
            "fair_write" => Self::FairWrite,
            // Curator's mutex that no thread owns.
            "semaphore_mutex" => Self::Semaphore(1),
            "multi" => Self::Multi,
            "red" => Self::Red,
            _ => {
                let permits = word.strip_prefix("semaphore/").ok_or(format!("no kind {word}"))?;
                Self::Semaphore(permits.parse()?)
            }
        })
    }
}

impl Kind {
    /// What requests it; `None` for a semaphore, whose permits are no locks, and for what is several locks.
    pub(crate) fn ask(self, locks: &LockClient, key: &str) -> Option<Acquire> {
        Some(match self {
            Self::Reentrant => locks.reentrant(key),
            Self::Fair => locks.fair(key),
            Self::Fenced => locks.fenced(key),
            Self::Read => locks.read(key),
            Self::Write => locks.write(key),
            Self::FairRead => locks.fair_read(key),
            Self::FairWrite => locks.fair_write(key),
            Self::Semaphore(_) | Self::Multi | Self::Red => return None,
        })
    }

    /// Whether the grant is answered with a token.
    pub(crate) fn tells_token(self) -> bool {
        self == Self::Fenced
    }

    pub(crate) fn is_shared(self) -> bool {
        matches!(self, Self::Read | Self::FairRead)
    }

    pub(crate) async fn hold_count(
        self,
        locks: &LockClient,
        key: &str,
    ) -> Result<u32, InspectError> {
        locks.hold_count(key, self.mode()).await
    }

    /// Returns whether it is held; for a semaphore, whether no permit is left.
    pub(crate) async fn is_locked(
        self,
        locks: &LockClient,
        key: &str,
    ) -> Result<bool, InspectError> {
        match self {
            Self::Semaphore(permits) => {
                Ok(locks.semaphore(key, permits).free_permits().await? <= 0)
            }
            _ => locks.is_locked(key, self.mode()).await,
        }
    }

    fn mode(self) -> Mode {
        if self.is_shared() { Mode::Read } else { Mode::Write }
    }
}
