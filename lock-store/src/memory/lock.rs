//! One key's lock, of any kind.

use std::collections::HashSet;

use super::{
    exclusive::Exclusive, fair_read_write::FairReadWrite, read_write::ReadWrite, rules::LockRules,
    semaphore::SemaphoreLock, waiters::Waiters,
};
use crate::types::{FencingToken, Kind};

#[derive(Debug)]
pub(crate) enum Lock {
    Exclusive(Exclusive),
    ReadWrite(ReadWrite),
    FairReadWrite(FairReadWrite),
    SemaphoreLock(SemaphoreLock),
}

impl Lock {
    /// A new lock, free and without waiters.
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::ReadWrite => Self::ReadWrite(ReadWrite::default()),
            Kind::FairReadWrite => Self::FairReadWrite(FairReadWrite::default()),
            Kind::Semaphore => Self::SemaphoreLock(SemaphoreLock::default()),
            Kind::Reentrant | Kind::NonReentrant | Kind::Fair | Kind::Fenced => {
                Self::Exclusive(Exclusive::default())
            }
        }
    }

    pub(crate) fn shape(&mut self) -> &mut dyn LockRules {
        match self {
            Self::Exclusive(shape) => shape,
            Self::ReadWrite(shape) => shape,
            Self::FairReadWrite(shape) => shape,
            Self::SemaphoreLock(shape) => shape,
        }
    }

    pub(crate) fn is_of(&self, kind: Kind) -> bool {
        match kind {
            Kind::ReadWrite => matches!(self, Self::ReadWrite(_)),
            Kind::FairReadWrite => matches!(self, Self::FairReadWrite(_)),
            Kind::Semaphore => matches!(self, Self::SemaphoreLock(_)),
            Kind::Reentrant | Kind::NonReentrant | Kind::Fair | Kind::Fenced => {
                matches!(self, Self::Exclusive(_))
            }
        }
    }

    /// Whether it can be used as this kind. A lock that has only waiters left can change its kind;
    /// the waiters keep their places.
    pub(crate) fn becomes(&mut self, kind: Kind) -> bool {
        if self.is_of(kind) {
            return true;
        }
        if matches!(kind, Kind::FairReadWrite | Kind::Semaphore) {
            return false;
        }
        let Some(waiters) = self.only_waiters() else { return false };
        *self = match kind {
            Kind::ReadWrite => Self::ReadWrite(ReadWrite::waited_for(waiters)),
            _ => Self::Exclusive(Exclusive::waited_for(waiters)),
        };
        true
    }

    fn only_waiters(&mut self) -> Option<Waiters> {
        match self {
            Self::Exclusive(plain) => plain.only_waiters(),
            Self::ReadWrite(read_write) => read_write.only_waiters(),
            Self::FairReadWrite(_) | Self::SemaphoreLock(_) => None,
        }
    }
}

/// The state of a key.
#[derive(Debug)]
pub(crate) struct KeyEntry {
    pub(crate) lock: Lock,
    /// The last one, for inspection.
    pub(crate) token: Option<FencingToken>,
    /// Holders that were requested to release.
    pub(crate) release_requests: HashSet<String>,
}
