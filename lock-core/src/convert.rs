//! Changes of mode: a read becomes a write, a write a read.

use std::sync::Arc;

use crate::{
    DowngradeError, LostCause, UpgradeError,
    clock::Moment,
    error::Unavailable,
    gate::Permit,
    hold::{Hold, ReconcileOnDrop},
    store::{ConvertCommand, Downgraded, Holds, Upgraded},
};

pub(crate) const UNCONFIRMED: &str = "an earlier step of the hold is not confirmed yet";

impl Hold {
    pub(crate) async fn upgrade(self: &Arc<Self>) -> Result<(), UpgradeError> {
        self.check()?;
        self.engine.check_mode_changes()?;
        if let Some(leavers) = self.engine.gate.leavers(&self.key) {
            // A reader of this process that was just released is no other reader.
            let _ = tokio::time::timeout(self.engine.settings.command_timeout, leavers).await;
        }
        self.take_over().await?;
        let _steps = self.steps().await;
        self.check()?;
        let (after, lease) = {
            let mut state = self.state();
            if state.in_doubt() {
                return Err(Unavailable::unsent(UNCONFIRMED).into());
            }
            let sole = state.permit.as_mut().is_some_and(Permit::upgrade);
            if !sole {
                return Err(UpgradeError::NotSole { key: self.key.clone() });
            }
            let mut after = state.guards;
            after.read -= 1;
            after.write += 1;
            state.stored.write = state.stored.write.max(after.write);
            state.doubt_mode(after);
            (after, state.terms.lease)
        };
        let _reconcile = ReconcileOnDrop(self);
        let step = ConvertCommand { holder: self.holder(), after, lease };
        let sent = Moment::now();
        let answer = self.engine.store.upgrade(step).await.map_err(|why| why.held_for(lease))?;
        self.upgraded(answer, after, sent)
    }

    fn upgraded(
        self: &Arc<Self>,
        answer: Upgraded,
        after: Holds,
        sent: Moment,
    ) -> Result<(), UpgradeError> {
        let mut state = self.state();
        match answer {
            Upgraded::Granted(token) => {
                state.has(after);
                // Lost while the answer was on its way: what was granted is released.
                if let Some(cause) = state.lost {
                    return Err(self.lost(cause).into());
                }
                // Other guards may have gone meanwhile.
                state.guards.read -= 1;
                state.guards.write += 1;
                state.token = Some(token);
                let lease = state.terms.lease;
                state.confirm(sent, lease, Moment::now());
            }
            Upgraded::NotSole => {
                let before = Holds { read: state.stored.read, write: after.write - 1 };
                state.has(before);
                if let Some(permit) = &mut state.permit {
                    permit.downgrade();
                }
                return Err(UpgradeError::NotSole { key: self.key.clone() });
            }
            Upgraded::Lost => {
                state.mode_in_doubt = false;
                drop(state);
                self.lose(LostCause::Refused);
                return Err(self.lost(LostCause::Refused).into());
            }
        }
        drop(state);
        self.engine.schedule.add(self);
        self.announce();
        Ok(())
    }

    /// With the hold's steps locked by the caller.
    pub(crate) async fn downgrade(self: &Arc<Self>) -> Result<(), DowngradeError> {
        let (after, lease) = {
            let mut state = self.state();
            state.guards.write -= 1;
            state.guards.read += 1;
            let after = state.guards;
            state.stored.read = state.stored.read.max(after.read);
            state.doubt_mode(after);
            (after, state.terms.lease)
        };
        let _reconcile = ReconcileOnDrop(self);
        let step = ConvertCommand { holder: self.holder(), after, lease };
        let sent = Moment::now();
        let answer = self.engine.store.downgrade(step).await.map_err(|why| why.held_for(lease))?;
        match answer {
            Downgraded::Done => {
                self.downgraded(after, sent);
                Ok(self.check()?)
            }
            Downgraded::Lost => {
                self.state().mode_in_doubt = false;
                self.lose(LostCause::Refused);
                Err(self.lost(LostCause::Refused).into())
            }
        }
    }

    /// The store has confirmed that a write has become a read, or never was one.
    pub(crate) fn downgraded(self: &Arc<Self>, after: Holds, sent: Moment) {
        let believed = self.engine.believed_lease(self.state().terms.lease, after);
        {
            let mut state = self.state();
            state.has(after);
            state.confirm(sent, believed, Moment::now());
            if after.write == 0 {
                state.reads_only(sent, believed);
            }
        }
        self.engine.schedule.add(self);
        self.announce();
    }
}
