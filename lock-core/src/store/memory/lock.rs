//! One key's lock, whatever shape it has.

use std::collections::HashSet;

use super::{
    exclusive::Plain, fair_read_write::FairReadWrite, read_write::ReadWrite, rules::LockRules,
    semaphore::Semaphore, waiters::Waiters,
};
use crate::types::{FencingToken, Kind};

#[derive(Debug)]
pub(crate) enum Lock {
    Plain(Plain),
    ReadWrite(ReadWrite),
    FairReadWrite(FairReadWrite),
    Semaphore(Semaphore),
}

impl Lock {
    /// As the first who asks finds it.
    pub(crate) fn new(kind: Kind, permits: u32) -> Self {
        match kind {
            Kind::ReadWrite => Self::ReadWrite(ReadWrite::default()),
            Kind::FairReadWrite => Self::FairReadWrite(FairReadWrite::default()),
            Kind::Semaphore => Self::Semaphore(Semaphore::of(permits)),
            Kind::Reentrant | Kind::NonReentrant | Kind::Fair | Kind::Fenced => {
                Self::Plain(Plain::default())
            }
        }
    }

    pub(crate) fn shape(&mut self) -> &mut dyn LockRules {
        match self {
            Self::Plain(shape) => shape,
            Self::ReadWrite(shape) => shape,
            Self::FairReadWrite(shape) => shape,
            Self::Semaphore(shape) => shape,
        }
    }

    pub(crate) fn is_of(&self, kind: Kind) -> bool {
        match kind {
            Kind::ReadWrite => matches!(self, Self::ReadWrite(_)),
            Kind::FairReadWrite => matches!(self, Self::FairReadWrite(_)),
            Kind::Semaphore => matches!(self, Self::Semaphore(_)),
            Kind::Reentrant | Kind::NonReentrant | Kind::Fair | Kind::Fenced => {
                matches!(self, Self::Plain(_))
            }
        }
    }

    /// Whether it can be asked for as this kind. Waiters that are left say nothing of the kind,
    /// and keep their places.
    pub(crate) fn becomes(&mut self, kind: Kind) -> bool {
        if self.is_of(kind) {
            return true;
        }
        match (self.only_waiters(), kind) {
            (None, _) | (Some(_), Kind::FairReadWrite | Kind::Semaphore) => return false,
            (Some(waiters), Kind::ReadWrite) => {
                *self = Self::ReadWrite(ReadWrite::waited_for(waiters))
            }
            (Some(waiters), _) => *self = Self::Plain(Plain::waited_for(waiters)),
        }
        true
    }

    fn only_waiters(&mut self) -> Option<Waiters> {
        match self {
            Self::Plain(plain) => plain.only_waiters(),
            Self::ReadWrite(read_write) => read_write.only_waiters(),
            Self::FairReadWrite(_) | Self::Semaphore(_) => None,
        }
    }
}

/// What is kept for a key.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) lock: Lock,
    /// The last one, for those who look.
    pub(crate) token: Option<FencingToken>,
    /// Holders that were asked to release.
    pub(crate) asked: HashSet<String>,
}
