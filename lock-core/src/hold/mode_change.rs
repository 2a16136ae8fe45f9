//! Changes of mode: a read becomes a write, a write a read.

use std::sync::Arc;

use lock_store::{ConvertCommand, Downgraded, Holds, Unavailable, Upgraded, runtime::LeaseInstant};

use super::{
    Hold, Permit,
    lease::{Lease, ReconcileOnDrop},
    state::LeaseInner,
};
use crate::types::{DowngradeError, Lost, LostCause, UpgradeError};

pub(crate) const UNCONFIRMED: &str = "an earlier step of the hold is not confirmed yet";

impl Hold {
    pub(crate) async fn upgrade(self: &Arc<Self>) -> Result<(), UpgradeError> {
        let lease = &self.lease;
        self.check()?;
        lease.client.check_mode_changes()?;
        if let Some(leavers) = lease.client.gate.pending_releases(&lease.key) {
            // The store would count a reader of this process whose release is in flight, and refuse
            // the upgrade although the caller reads alone.
            let _ = tokio::time::timeout(lease.client.settings.command_timeout, leavers).await;
        }
        let _step = lease.step().await;
        self.check()?;
        let (after, length) = {
            let mut state = lease.state();
            // Readers that share the lease are one reader in the store, which would grant the upgrade
            // beside them. So are readers that were let in and have not joined yet.
            if !state.is_sole() {
                return Err(self.not_sole());
            }
            if state.in_doubt() {
                return Err(Unavailable::unsent(UNCONFIRMED).into());
            }
            // Of the two places that it may have at the gate, the lease's own stays.
            lease.client.give_back(self.state().permit.take());
            if !state.permit.as_mut().is_some_and(Permit::upgrade) {
                return Err(self.not_sole());
            }
            let mut after = state.holds.guards;
            after.read -= 1;
            after.write += 1;
            state.remote.write = state.remote.write.max(after.write);
            state.doubt_mode(after);
            (after, state.length)
        };
        let _reconcile = ReconcileOnDrop(lease);
        let command = ConvertCommand::new(lease.holder(), after, length);
        let sent = LeaseInstant::now();
        let answer =
            lease.client.store.upgrade(command).await.map_err(|why| why.held_for(length))?;
        self.upgraded(answer, after, sent)
    }

    fn not_sole(&self) -> UpgradeError {
        UpgradeError::NotSole { key: self.lease.key.clone() }
    }

    /// The store had nothing to change the mode of.
    fn mode_refused(&self) -> Lost {
        self.lease.state().mode_in_doubt = false;
        self.lease.lose(LostCause::Refused);
        self.lost(LostCause::Refused)
    }

    fn upgraded(
        &self,
        answer: Upgraded,
        after: Holds,
        sent: LeaseInstant,
    ) -> Result<(), UpgradeError> {
        let lease = &self.lease;
        let mut state = lease.state();
        match answer {
            Upgraded::Granted(token) => {
                state.has(after);
                let mut own = self.state();
                // The hold was lost while the answer was in flight: the write that was granted has no
                // guard, and the reconciler releases it.
                if let Some(end) = own.end {
                    return Err(self.lost(end.cause()).into());
                }
                // Other guards may have been dropped since the command was sent: the counts of now are
                // changed, not those that were sent.
                for guards in [&mut own.guards, &mut state.holds.guards] {
                    guards.read -= 1;
                    guards.write += 1;
                }
                (own.token, state.token) = (Some(token), Some(token));
                let length = state.length;
                state.confirm(sent, length, LeaseInstant::now());
            }
            Upgraded::NotSole => {
                let before = Holds { read: state.remote.read, write: after.write - 1 };
                state.has(before);
                if let Some(permit) = &mut state.permit {
                    permit.downgrade();
                }
                return Err(self.not_sole());
            }
            Upgraded::Lost => {
                drop(state);
                return Err(self.mode_refused().into());
            }
        }
        drop(state);
        lease.client.schedule.add(lease);
        lease.announce();
        Ok(())
    }

    /// With the right to the lease's next step, which the caller has.
    pub(crate) async fn downgrade(self: &Arc<Self>) -> Result<(), DowngradeError> {
        let lease = &self.lease;
        let (after, length) = {
            let mut state = lease.state();
            let mut own = self.state();
            own.guards.write -= 1;
            own.guards.read += 1;
            if let Some(end) = own.end {
                return Err(self.lost(end.cause()).into());
            }
            state.holds.guards.write -= 1;
            state.holds.guards.read += 1;
            let after = state.holds.guards;
            state.remote.read = state.remote.read.max(after.read);
            state.doubt_mode(after);
            (after, state.length)
        };
        let _reconcile = ReconcileOnDrop(lease);
        let command = ConvertCommand::new(lease.holder(), after, length);
        let sent = LeaseInstant::now();
        let answer =
            lease.client.store.downgrade(command).await.map_err(|why| why.held_for(length))?;
        match answer {
            Downgraded::Done => {
                lease.downgraded(after, sent);
                Ok(self.check()?)
            }
            Downgraded::Lost => Err(self.mode_refused().into()),
        }
    }
}

impl Lease {
    /// The store has confirmed that a write has become a read, or never was one.
    pub(super) fn downgraded(self: &Arc<Self>, after: Holds, sent: LeaseInstant) {
        {
            let mut state = self.state();
            let effective = self.client.effective_lease(state.length, after);
            state.has(after);
            state.confirm(sent, effective, LeaseInstant::now());
            if after.write == 0 {
                state.reads_only(sent, effective);
            }
        }
        self.client.schedule.add(self);
        self.announce();
    }
}

impl LeaseInner {
    fn is_sole(&self) -> bool {
        self.holds.count() == 1 && self.sharing.expected == 0
    }
}
