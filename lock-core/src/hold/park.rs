//! Parking: the hold ends here, and its lease stays in the store for a client that has the ticket.

use std::{sync::Arc, time::Duration};

use lock_store::{
    FencingToken, Holds, Kind, Mode, RenewCommand, Renewal, Unavailable, Unsupported,
    runtime::LeaseInstant,
};

use super::{
    Hold, HoldEnd, StepPermit, UNCONFIRMED,
    state::{LeaseInner, Next, Stage},
};
use crate::types::{HoldTicket, LostCause, ParkError, ParkedHold, check_lease};

impl Hold {
    /// Gives the hold the lease `length`, ends it here and leaves it in the store. After an error
    /// everything is as before.
    pub(crate) async fn park(self: &Arc<Self>, length: Duration) -> Result<HoldTicket, ParkError> {
        let lease = &self.lease;
        let client = &lease.client;
        let (key, _) = client.settings.ticket_keys()?;
        check_lease("lease of a parked hold", length)?;
        client.tasks.attach_runtime()?;
        if lease.kind == Kind::Semaphore || !client.store.supports_transfers() {
            let what = format!("parked holds of a {} lock", lease.kind);
            return Err(Unsupported::new(what).into());
        }
        // With the right to the step until the hold has ended: a renewal or a re-entry that was sent in
        // between would be executed on a hold that another client has by then.
        let step = self.settled_step().await?;
        self.check()?;
        let mode = self.only_mode(&lease.state())?;
        let sent = LeaseInstant::now();
        lease.state().may_be_stored(sent, length);
        let command = RenewCommand::new(lease.holder(), length);
        let answers = client.store.renew(mode, vec![command]).await?;
        match answers.first() {
            Some(Renewal::Renewed) => {}
            Some(Renewal::Lost) => {
                drop(step);
                lease.lose(LostCause::Refused);
                return Err(self.lost(LostCause::Refused).into());
            }
            _ => return Err(Unavailable::unsent("it could not renew the lease").into()),
        }
        let parked = self.leave_parked(mode, step)?;
        Ok(key.sign(&parked))
    }

    /// The right to the next step, once the store has confirmed everything that was dropped before:
    /// guards of the scope, or a change of mode.
    pub(super) async fn settled_step(&self) -> Result<StepPermit, Unavailable> {
        let lease = &self.lease;
        let is_settled = |state: &LeaseInner| {
            state.is_settled() && !state.in_doubt() || state.stage != Stage::Held
        };
        loop {
            let step = lease.step().await;
            if is_settled(&lease.state()) {
                return Ok(step);
            }
            // With the right to the step the reconciler could send nothing.
            drop(step);
            let settled = lease.until(|state| is_settled(state).then_some(()));
            let settled = tokio::time::timeout(lease.client.settings.command_timeout, settled);
            settled.await.map_err(|_| Unavailable::unsent(UNCONFIRMED))?;
        }
    }

    /// The mode of a hold that is alone on its lease, with one guard.
    fn only_mode(&self, lease: &LeaseInner) -> Result<Mode, ParkError> {
        let guards = self.state().guards;
        let alone = lease.holds.count() == 1 && lease.sharing.expected == 0;
        if !alone || guards.read + guards.write != 1 {
            return Err(ParkError::Shared { key: self.lease.key.clone() });
        }
        if lease.in_doubt() || lease.remote != guards {
            return Err(Unavailable::unsent(UNCONFIRMED).into());
        }
        Ok(if guards.write > 0 { Mode::Write } else { Mode::Read })
    }

    fn leave_parked(
        self: &Arc<Self>,
        mode: Mode,
        step: StepPermit,
    ) -> Result<ParkedHold, ParkError> {
        // The clock alone may have ended it while the answer was on its way.
        self.check()?;
        let parked = {
            let mut lease = self.lease.state();
            // A reader of this process may have joined meanwhile. Checked under the lock under
            // which the hold ends, so that no reader joins a hold that has ended.
            self.only_mode(&lease)?;
            let now = LeaseInstant::now();
            let mut own = self.state();
            if let Some(end) = own.end {
                return Err(self.lost(end.cause()).into());
            }
            own.end = Some(HoldEnd::Parked);
            own.least_remaining = lease.least_remaining;
            self.lease.client.give_back(own.permit.take());
            let mut guard = Holds::default();
            *guard.of_mut(mode) = 1;
            lease.remove_hold(self, guard);
            let left = lease.leave();
            debug_assert!(left, "BUG: it was held, with nothing in doubt");
            ParkedHold {
                kind: self.lease.kind,
                mode,
                key: self.lease.key.clone(),
                owner: self.lease.owner.clone(),
                token: own.token.unwrap_or(FencingToken::NONE),
                lasts: now.until(lease.stored_until),
            }
        };
        drop(step);
        // Nothing of it is to be released here: it is finished, and the next waiter of this process may
        // contend in the store.
        self.lease.proceed(Next::Reconcile);
        self.report_released();
        Ok(parked)
    }
}
