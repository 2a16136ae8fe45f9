//! One key's lock, whatever shape it has.

use std::{collections::HashSet, time::SystemTime};

use super::{
    exclusive::Plain, fair_read_write::FairReadWrite, read_write::ReadWrite, semaphore::Semaphore,
    subscribers::Channel, waiters::Waiters,
};
use crate::{
    clock::Moment,
    fencing::FencingToken,
    kind::Kind,
    mode::Mode,
    owner::OwnerId,
    store::{
        AcquireCommand, Acquired, ConvertCommand, Downgraded, LockSnapshot, ReleaseCommand,
        Released, Renewal, Upgraded,
    },
};

/// What a step finds beside the lock: the time and the last token; and whom it tells.
pub(crate) struct Scene<'a> {
    pub(crate) now: Moment,
    pub(crate) last_token: &'a mut u64,
    pub(crate) given: Option<FencingToken>,
    pub(crate) told: Vec<Channel>,
}

impl Scene<'_> {
    /// A token, and so many in reserve after it.
    pub(crate) fn tokens(&mut self, more: u32) -> FencingToken {
        let token = self.token();
        *self.last_token += u64::from(more);
        self.given = Some(FencingToken::new(*self.last_token));
        token
    }

    /// Tokens of all keys are one sequence: more than each of them needs, and it never forgets.
    pub(crate) fn token(&mut self) -> FencingToken {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_micros()).unwrap_or(0);
        *self.last_token = (*self.last_token + 1).max(now);
        let token = FencingToken::new(*self.last_token);
        self.given = Some(token);
        token
    }

    pub(crate) fn tell(&mut self, channel: Channel) {
        self.told.push(channel);
    }

    pub(crate) fn tell_turn(&mut self, owner: &OwnerId) {
        self.tell(Channel::Turn(owner.clone()));
    }
}

/// What every shape can be asked. Nothing in it is over when it is asked: see [`expire`](Self::expire).
pub(crate) trait Shape {
    /// Forgets everything whose time is over.
    fn expire(&mut self, now: Moment);
    /// Whether there is nothing to remember.
    fn is_over(&self) -> bool;
    fn acquire(&mut self, step: &AcquireCommand, scene: &mut Scene<'_>) -> Acquired;
    fn release(&mut self, step: &ReleaseCommand, scene: &mut Scene<'_>) -> Released;
    fn renew(&mut self, owner: &OwnerId, mode: Mode, until: Moment) -> Renewal;
    fn upgrade(&mut self, _step: &ConvertCommand, _scene: &mut Scene<'_>) -> Upgraded {
        Upgraded::Lost
    }
    fn downgrade(&mut self, _step: &ConvertCommand, _scene: &mut Scene<'_>) -> Downgraded {
        Downgraded::Lost
    }
    fn standing(&self, now: Moment) -> LockSnapshot;
    /// Takes it away from all who hold it. Who waits keeps its place, and is told.
    fn take_away(&mut self, scene: &mut Scene<'_>);
}

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

    pub(crate) fn shape(&mut self) -> &mut dyn Shape {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_token_exceeds_the_last_one_whatever_the_clock_says() {
        let mut last_token = 1 << 62;
        let now = Moment::now();
        let mut scene = Scene { now, last_token: &mut last_token, given: None, told: Vec::new() };
        assert_eq!([scene.token().get(), scene.token().get()], [(1 << 62) + 1, (1 << 62) + 2]);
    }
}
