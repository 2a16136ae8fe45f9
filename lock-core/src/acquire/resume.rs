//! From a ticket to a guard: the hold that another client has parked gets an owner of this one.

use std::{sync::Arc, time::Duration};

use lock_store::{
    Holder, RenewCommand, Renewal, StoreError, TransferCommand, Transferred, Unavailable,
    Unsupported, runtime::LeaseInstant,
};

use super::{attempt::FirstAttempt, renewed_guard};
use crate::{
    gate::{Access, EnterResult},
    guard::LockGuard,
    hold::{ClientInner, Hold, Lease, LockRequest, Permit, ScopeHolds, WaitDeadline},
    types::{AcquireOptions, HoldTicket, InvalidTicket, ParkedHold, ResumeError},
};

/// Takes over a parked hold. The ticket is used up by the store, where the owner in it has the hold
/// until the first client has taken it over: a second one finds nothing.
pub(crate) async fn resume(
    client: &Arc<ClientInner>,
    scope: Option<Arc<ScopeHolds>>,
    ticket: &HoldTicket,
    options: AcquireOptions,
) -> Result<LockGuard, ResumeError> {
    let (_, keys) = client.settings.ticket_keys()?;
    let parked = keys.iter().find_map(|key| key.verify(ticket).ok()).ok_or(InvalidTicket)?;
    client.tasks.attach_runtime()?;
    if !client.store.supports_transfers() {
        return Err(Unsupported::new("parked holds").into());
    }
    let hold_options = options.hold_options(&client.settings);
    let request = LockRequest {
        kind: parked.kind,
        key: parked.key.clone(),
        mode: parked.mode,
        permits: 0,
        wanted_permits: 1,
        options,
        hold_options,
        scope,
    };
    let permit = admit(client, &request).ok_or(ResumeError::Draining)?;
    let attempt = FirstAttempt::new(Lease::new(client, &request, permit));
    let hold = attempt.take_over(&request, &parked).await?;
    if let Some(scope) = &request.scope {
        let slot = scope.slot(client.owners.client(), &request.key);
        // A guard or a view may still have the one that was parked.
        if !slot.hold().is_some_and(|before| matches!(before.is_live(), Ok(true))) {
            slot.set(&hold);
        }
    }
    Ok(renewed_guard(client, hold, &request, &WaitDeadline::of(Duration::ZERO)))
}

/// A place at the gate. It does not queue: contenders for the key in this process wait in the store
/// for this very hold.
fn admit(client: &ClientInner, request: &LockRequest) -> Option<Permit> {
    let access = Access::of(request.kind, request.mode);
    match client.gate.enter(&request.key, access, None, None, None) {
        EnterResult::Admitted(permit) => Some(permit),
        EnterResult::Closed => None,
        _ => client.gate.enter_holding(&request.key),
    }
}

impl Lease {
    /// Makes the parked hold this lease's own, and renews it.
    pub(super) async fn take_over(
        self: &Arc<Self>,
        request: &LockRequest,
        parked: &ParkedHold,
    ) -> Result<Arc<Hold>, ResumeError> {
        let gone = || {
            *self.state().remote.of_mut(parked.mode) = 0;
            ResumeError::Gone { key: parked.key.clone() }
        };
        let lease = request.hold_options.lease;
        {
            // Before it is sent: a caller that is dropped from here on releases the hold that it
            // may have got.
            let mut state = self.state();
            *state.remote.of_mut(parked.mode) = 1;
            state.may_be_stored(LeaseInstant::now(), parked.lasts);
        }
        let from = Holder::new(parked.kind, parked.key.clone(), parked.owner.clone());
        let command = TransferCommand::new(from, parked.mode, self.owner.clone());
        let unanswered = |why: StoreError| why.held_for(lease.max(parked.lasts));
        match self.client.store.transfer(command).await.map_err(unanswered)? {
            Transferred::Done => {}
            Transferred::Gone => return Err(gone()),
        }
        // The transfer keeps the remaining time of the parked lease: only the renewal gives this
        // client a validity that it can compute. Exactly: a parked lease may be far longer, and would keep the
        // lock for its whole rest if this process dies.
        let sent = LeaseInstant::now();
        self.state().may_be_stored(sent, lease);
        let command = RenewCommand::exactly(self.holder(), lease);
        let answers = self.client.store.renew(parked.mode, vec![command]).await;
        match answers.map_err(unanswered)?.first() {
            Some(Renewal::Renewed) => {}
            Some(Renewal::Lost) => return Err(gone()),
            _ => return Err(Unavailable::unsent("it could not renew the lease").into()),
        }
        let now = LeaseInstant::now();
        if !self.in_time(sent, now) {
            let why = "the answer took longer than the lease";
            return Err(Unavailable::unsent(why).held_for(lease).into());
        }
        Ok(self.granted(request, sent, now, Some(parked.token)))
    }
}
