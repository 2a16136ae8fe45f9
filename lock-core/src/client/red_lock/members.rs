//! The grants of the servers for one lock.

use std::{mem, sync::Arc, time::Duration};

use lock_store::{
    LockKey,
    runtime::{LeaseInstant, Mutex},
};
use tokio_util::sync::CancellationToken;

use crate::{
    guard::{LockGuard, LostSignal},
    types::{Lost, LostCause},
};

/// The grant of one server.
#[derive(Debug)]
pub(super) struct Grant {
    /// Its place among the servers.
    pub(super) server: usize,
    /// Which server has it: its address may be that of another one later.
    pub(super) run_id: String,
    pub(super) guard: LockGuard,
}

impl Grant {
    /// As [`LockGuard::is_held`], but calls no observer: for where a mutex is locked.
    fn is_valid(&self) -> bool {
        let hold = self.guard.hold();
        matches!(hold.is_live(), Ok(true)) && hold.remaining() > Duration::ZERO
    }
}

/// For how long a majority can be relied upon: `lease - elapsed - drift` of the one among them that
/// ends first.
pub(super) fn remaining(grants: &[Grant], majority: usize) -> Duration {
    let valid = grants.iter().filter(|grant| grant.is_valid());
    let mut left: Vec<_> = valid.map(|grant| grant.guard.hold().remaining()).collect();
    left.sort_unstable_by(|one, other| other.cmp(one));
    left.get(majority - 1).copied().unwrap_or_default()
}

/// The grants of which a lock consists: shared by its guard, its signals of loss and the task that
/// takes servers back.
///
/// A server leaves when it has lost the lock, and is added when it has granted it again. It is one
/// hold all the same: at every moment of it a majority of the servers has the lock. Two majorities
/// always share a server, which grants the lock to one of them only.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) key: LockKey,
    pub(super) majority: usize,
    pub(super) granted_at: LeaseInstant,
    /// Cancelled when the guard is dropped or released.
    pub(super) ended: CancellationToken,
    state: Mutex<MemberState>,
}

#[derive(Debug)]
enum MemberState {
    /// The cause is that of the last server that was removed.
    Held(Vec<Grant>, LostCause),
    Ended(LostCause),
}

impl Members {
    pub(super) fn new(key: LockKey, majority: usize, grants: Vec<Grant>) -> Arc<Self> {
        Arc::new(Self {
            key,
            majority,
            granted_at: LeaseInstant::now(),
            ended: CancellationToken::new(),
            state: Mutex::new(MemberState::Held(grants, LostCause::Expired)),
        })
    }

    /// Returns the result of `read` for the grants; for none once the guard is gone.
    pub(super) fn read<T>(&self, read: impl FnOnce(&[Grant]) -> T) -> T {
        match &*self.state.lock() {
            MemberState::Held(grants, _) => read(grants),
            MemberState::Ended(_) => read(&[]),
        }
    }

    /// Fails if fewer than a majority have the lock: then it is lost for good.
    pub(super) fn check(&self) -> Result<(), Lost> {
        let (holds, removed) = match &*self.state.lock() {
            MemberState::Held(grants, cause) => {
                let holds = grants.iter().map(|grant| Arc::clone(grant.guard.hold()));
                (holds.collect::<Vec<_>>(), *cause)
            }
            MemberState::Ended(cause) => (Vec::new(), *cause),
        };
        let checks: Vec<_> = holds.iter().map(|hold| hold.check()).collect();
        if checks.iter().filter(|check| check.is_ok()).count() >= self.majority {
            return Ok(());
        }
        let lost = checks.into_iter().rev().find_map(Result::err);
        let cause = lost.map_or(removed, |lost| lost.cause());
        Err(Lost { key: self.key.clone(), cause })
    }

    /// Adds a server's new grant, unless the majority was lost meanwhile: another client may have
    /// had it since, even if it is one again with this server. A server that is one of the others
    /// at another address is not added either. A grant that is not added is returned, to be
    /// released.
    pub(super) fn add(&self, grant: Grant) -> Result<(), Grant> {
        // Looked at and added under one lock: no moment without a majority goes unnoticed.
        let mut state = self.state.lock();
        let MemberState::Held(grants, _) = &mut *state else { return Err(grant) };
        let valid = grants.iter().filter(|grant| grant.is_valid()).count();
        if valid < self.majority || grants.iter().any(|other| other.run_id == grant.run_id) {
            return Err(grant);
        }
        grants.push(grant);
        Ok(())
    }

    /// Removes the grants that have ended. They are released when they are dropped: a server may
    /// still have a grant that has ended here.
    pub(super) fn remove_ended(&self) -> Vec<Grant> {
        let mut state = self.state.lock();
        let MemberState::Held(grants, cause) = &mut *state else { return Vec::new() };
        let (valid, ended): (Vec<_>, _) = mem::take(grants).into_iter().partition(Grant::is_valid);
        *grants = valid;
        if let Some(Err(lost)) = ended.last().map(|grant| grant.guard.hold().is_live()) {
            *cause = lost.cause();
        }
        ended
    }

    /// The signals of those that have the lock now.
    pub(super) fn signals(&self) -> Vec<LostSignal> {
        let signal = |grant: &Grant| grant.is_valid().then(|| grant.guard.lost());
        self.read(|grants| grants.iter().filter_map(signal).collect())
    }

    /// Ends the hold, and returns the grants that are still to be released.
    pub(super) fn end(&self) -> Vec<Grant> {
        let cause = self.check().err().map_or(LostCause::Released, |lost| lost.cause());
        self.ended.cancel();
        match mem::replace(&mut *self.state.lock(), MemberState::Ended(cause)) {
            MemberState::Held(grants, _) => grants,
            MemberState::Ended(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::LockClient;

    #[tokio::test(start_paused = true)]
    async fn one_server_at_two_addresses_counts_once() {
        let client = LockClient::in_memory();
        let granted = async |server: usize, run_id: &str| {
            let guard = client.non_reentrant(format!("{server}")).acquire().await;
            Grant { server, run_id: run_id.to_owned(), guard: guard.expect("it is free") }
        };
        let grants = vec![granted(0, "one").await, granted(1, "two").await];
        let key = grants[0].guard.key().clone();
        let members = Members::new(key, 2, grants);
        let refused = members.add(granted(2, "two").await).expect_err("it is a member");
        assert_eq!(refused.server, 2);
        drop(refused);
        assert_eq!(members.signals().len(), 2);
        assert!(members.add(granted(3, "three").await).is_ok());
        assert_eq!(members.signals().len(), 3);
    }
}
