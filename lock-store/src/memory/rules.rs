//! The operations of every kind of lock, and the context of a command.

use std::time::SystemTime;

use super::subscribers::WakeChannel;
use crate::{
    command::{AcquireCommand, ConvertCommand, ReleaseCommand, TransferCommand},
    outcome::{Acquired, Downgraded, Released, Renewal, Transferred, Upgraded},
    runtime::LeaseInstant,
    snapshot::LockSnapshot,
    types::{FencingToken, Mode, OwnerId},
};

/// The context of a command beside the lock: the time, the last token, and the channels that it
/// notifies.
pub(crate) struct StepContext<'a> {
    pub(crate) now: LeaseInstant,
    pub(crate) last_token: &'a mut u64,
    pub(crate) given: Option<FencingToken>,
    pub(crate) woken: Vec<WakeChannel>,
}

impl StepContext<'_> {
    /// Draws a token, with a number of tokens in reserve after it.
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

    pub(crate) fn wake(&mut self, channel: WakeChannel) {
        self.woken.push(channel);
    }

    pub(crate) fn wake_owner(&mut self, owner: &OwnerId) {
        self.wake(WakeChannel::Turn(owner.clone()));
    }
}

/// When a hold ends after its renewal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewEnd {
    pub(crate) at: LeaseInstant,
    /// Whether it may be earlier than before.
    pub(crate) exactly: bool,
}

impl NewEnd {
    pub(crate) fn after(self, before: LeaseInstant) -> LeaseInstant {
        if self.exactly { self.at } else { self.at.max(before) }
    }
}

/// The operations of a kind of lock. Expired entries are removed before any of them is called: see
/// [`expire`](Self::expire).
pub(crate) trait LockRules {
    /// Removes everything that has expired.
    fn expire(&mut self, now: LeaseInstant);
    /// Whether there is nothing to remember.
    fn is_over(&self) -> bool;
    fn acquire(&mut self, command: &AcquireCommand, context: &mut StepContext<'_>) -> Acquired;
    fn release(&mut self, command: &ReleaseCommand, context: &mut StepContext<'_>) -> Released;
    fn renew(&mut self, owner: &OwnerId, mode: Mode, end: NewEnd) -> Renewal;
    fn upgrade(&mut self, _step: &ConvertCommand, _scene: &mut StepContext<'_>) -> Upgraded {
        Upgraded::Lost
    }
    fn downgrade(&mut self, _step: &ConvertCommand, _scene: &mut StepContext<'_>) -> Downgraded {
        Downgraded::Lost
    }
    /// Of no semaphore.
    fn transfer(&mut self, _step: &TransferCommand) -> Transferred {
        Transferred::Gone
    }
    fn snapshot(&self, now: LeaseInstant) -> LockSnapshot;
    /// Takes the lock away from all holders. Waiters keep their places and are notified.
    fn take_away(&mut self, context: &mut StepContext<'_>);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_token_exceeds_the_last_one_for_any_clock() {
        let mut last_token = 1 << 62;
        let now = LeaseInstant::now();
        let mut context =
            StepContext { now, last_token: &mut last_token, given: None, woken: Vec::new() };
        assert_eq!([context.token().get(), context.token().get()], [(1 << 62) + 1, (1 << 62) + 2]);
    }

    /// Holders that were handed the lock have the tokens in reserve.
    #[tokio::test(start_paused = true)]
    async fn what_is_reserved_is_given_to_no_other() {
        // Ahead of the clock, which would hide it otherwise.
        let mut last_token = 1 << 62;
        let now = LeaseInstant::now();
        let mut context =
            StepContext { now, last_token: &mut last_token, given: None, woken: Vec::new() };
        let first = context.tokens(5).get();
        assert_eq!(context.given, Some(FencingToken::new(first + 5)));
        assert_eq!(context.tokens(0).get(), first + 6);
    }
}
