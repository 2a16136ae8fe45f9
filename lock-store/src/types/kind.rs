use std::{fmt, str::FromStr};

use super::mode::Mode;

/// The kind of a lock. All users of a key, in every process and language, must agree on it.
///
/// Kinds refuse each other (`WrongKind`) where the store can tell them apart, as Redis can on the
/// native wire. On Redisson's wire and in memory the plain ones ([`Reentrant`](Self::Reentrant),
/// [`NonReentrant`](Self::NonReentrant), [`Fair`](Self::Fair) and [`Fenced`](Self::Fenced)) share
/// one shape: they exclude each other. But a waiter of one kind may not be notified of a release of
/// another. Acquisitions of kinds without a line overtake the waiters of a fair one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Any number of readers or one writer: Redisson's `RReadWriteLock`.
    #[default]
    ReadWrite,
    /// As [`ReadWrite`](Self::ReadWrite), in order of arrival: a reader waits behind a writer that
    /// came before it. Readers that follow each other share. On Redisson's wire it is an `RReadWriteLock`
    /// with a line of waiters that Redisson does not see.
    FairReadWrite,
    /// One holder, reentrant within a `Scope`: Redisson's `RLock`.
    Reentrant,
    /// One holder, never reentrant: within a scope a second acquisition is refused at once, because
    /// it would wait for itself forever. On Redisson's wire an `RLock`.
    NonReentrant,
    /// One holder, first come first served across processes, in order of arrival at the store:
    /// Redisson's `RFairLock`.
    Fair,
    /// One holder, whose fencing tokens are kept in the store forever: Redisson's `RFencedLock`.
    Fenced,
    /// A number of permits, each with a lease: Redisson's `RPermitExpirableSemaphore`.
    /// See `LockClient::semaphore`.
    Semaphore,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::ReadWrite,
        Self::FairReadWrite,
        Self::Reentrant,
        Self::NonReentrant,
        Self::Fair,
        Self::Fenced,
        Self::Semaphore,
    ];

    /// Returns the name in attributes, policy files, logs and errors, such as `"fair_read_write"`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::ReadWrite => "read_write",
            Kind::FairReadWrite => "fair_read_write",
            Kind::Reentrant => "reentrant",
            Kind::NonReentrant => "non_reentrant",
            Kind::Fair => "fair",
            Kind::Fenced => "fenced",
            Kind::Semaphore => "semaphore",
        }
    }

    /// Returns whether the lock can be read as well as written.
    #[must_use]
    pub fn has_readers(self) -> bool {
        matches!(self, Kind::ReadWrite | Kind::FairReadWrite)
    }

    /// Returns whether waiters have a line in the store, in order of arrival there.
    #[must_use]
    pub fn is_fair(self) -> bool {
        matches!(self, Kind::Fair | Kind::FairReadWrite)
    }

    /// Returns whether locks of this kind have this mode.
    #[doc(hidden)]
    #[inline]
    pub fn supports(self, mode: Mode) -> bool {
        mode == Mode::Write || self.has_readers()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    /// The kind of this [name](Kind::as_str).
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or(UnknownKind)
    }
}

/// The error for a text that is not the name of a [`Kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a kind of lock")]
#[non_exhaustive]
pub struct UnknownKind;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kinds() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert_eq!("Fair".parse::<Kind>(), Err(UnknownKind));
    }
}
