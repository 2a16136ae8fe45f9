//! Shared reads: readers of one process that arrive for one key at about the same time read on one
//! lease.
//!
//! The first of them sends the command and *leads*. Readers that arrive while it waits for the
//! answer or reads *join*: each has a separate hold on the leader's lease, with its own guards,
//! views and scope. The lease stays in the store until the last of them has gone, and is renewed
//! once for all. When it is lost, all of them lose their holds.
//!
//! No reader may join any more once the leader's hold has ended: the next reader leads on another
//! lease, and sends its own command to the store, which knows which writers wait. So a writer of
//! another process waits for the leader, as it would in any case, and for one more read. How long
//! others may join is bounded as well, in case a leader reads for long. At the gate a reader that
//! joins is a reader like any other, and queues behind the writers of the process.

use std::{sync::Arc, time::Duration};

use lock_store::{Kind, Mode, runtime::LeaseInstant};
use tokio::time::Instant;

use super::{
    Arrival, Hold,
    lease::Lease,
    request::{LockRequest, WaitDeadline},
    state::{LeaseInner, Next, Stage},
};
use crate::types::{AcquireError, MAX_SHARED_READERS};

/// The state by which a lease is shared.
#[derive(Debug, Default)]
pub(crate) struct SharedRead {
    /// Its current try counts for others too; once granted, it may be joined.
    pub(super) leads: bool,
    /// How many readers may still be let in.
    pub(super) places: u32,
    /// Those let in that have not joined yet.
    pub(super) expected: u32,
}

impl LockRequest {
    /// How many other readers it may share its lease with.
    fn places(&self) -> u32 {
        let alike = self.kind == Kind::ReadWrite && self.mode == Mode::Read;
        // Its lease is shortened when it has read.
        let alike = alike && self.options.at_least.is_none();
        let most = self.hold_options.max_shared_readers.min(MAX_SHARED_READERS).saturating_sub(1);
        if alike && self.hold_options.renew { most } else { 0 }
    }
}

/// Returns this reader's hold on another one's lease, if one leads already; otherwise this reader
/// leads. Waits for the leader's answer for no longer than one command may take.
pub(crate) async fn share(
    own: &Arc<Lease>,
    request: &LockRequest,
    wait_deadline: WaitDeadline,
) -> Result<Option<Arc<Hold>>, AcquireError> {
    if request.places() == 0 {
        return Ok(None);
    }
    let Some(ticket) = lead_or_join(own, request) else { return Ok(None) };
    let one_command = own.client.settings.command_timeout;
    let limit = wait_deadline.or_within(one_command).min(Instant::now() + one_command);
    let granted = ticket.lease.until(LeaseInner::granted_to_joiners);
    // Bounded: a leader whose future is not polled would otherwise keep the readers behind it for
    // as long as they wait.
    let granted = tokio::time::timeout_at(limit, granted).await.unwrap_or(false);
    own.client.check_draining()?;
    if granted && let Some(hold) = ticket.join(own, request) {
        return Ok(Some(hold));
    }
    // If the store did not answer the leader, this reader fails at once instead of sending an attempt
    // that would not be answered either.
    own.client.check_breaker(request)?;
    Ok(None)
}

fn lead_or_join(own: &Arc<Lease>, request: &LockRequest) -> Option<JoinTicket> {
    let gate = &own.client.gate;
    loop {
        let leader = gate.leader(&own.key);
        if let Some(ticket) = leader.upgrade().and_then(|lease| JoinTicket::of(lease, request)) {
            own.state().sharing.leads = false;
            return Some(ticket);
        }
        own.state().lead(request.places());
        if gate.set_leader(&own.key, &leader, own) {
            return None;
        }
    }
}

/// A place on a leader's lease. Until it is dropped, the leader's grant stays in the store.
struct JoinTicket {
    lease: Arc<Lease>,
    used: bool,
}

impl Drop for JoinTicket {
    fn drop(&mut self) {
        if self.used {
            return;
        }
        let next = {
            let mut state = self.lease.state();
            state.sharing.expected -= 1;
            state.next(self.lease.kind)
        };
        self.lease.proceed(next);
    }
}

impl JoinTicket {
    /// Returns a place on this lease, if it may be joined now.
    fn of(lease: Arc<Lease>, request: &LockRequest) -> Option<Self> {
        let may_join = lease.state().let_in(request, lease.client.settings.fairness_timeout);
        may_join.then(|| Self { lease, used: false })
    }

    /// A hold on the leader's lease; `None` when it cannot be joined any more.
    fn join(mut self, own: &Lease, request: &LockRequest) -> Option<Arc<Hold>> {
        let (permit, arrival) = {
            let mut own = own.state();
            (own.permit.take(), Arrival::of(own.waited))
        };
        let mut state = self.lease.state();
        let now = LeaseInstant::now();
        if !state.can_be_joined(now) {
            // Two leases are never locked at the same time: each of them could be about to join the
            // other, and both would wait forever.
            drop(state);
            own.state().permit = permit;
            return None;
        }
        state.sharing.expected -= 1;
        self.used = true;
        self.lease.client.statistics.shared_reads.add(1);
        // Its permit is moved too, so that it counts as a reader at the gate at every moment: a
        // local writer would otherwise be admitted in between. The rest of the joiner's lease is
        // given up.
        Some(state.add_hold(&self.lease, request, permit, arrival, now))
    }
}

impl Lease {
    /// The leader was not granted its try: the readers that wait for it try themselves.
    pub(crate) fn on_refused(&self) {
        self.state().sharing.leads = false;
        self.announce();
    }

    /// Releases a lease that is kept only for readers that were let in before it was granted, and
    /// have not joined by its first renewal: a future that is never polled must not keep it forever.
    pub(crate) fn drop_unclaimed(self: &Arc<Self>) -> bool {
        {
            let mut state = self.state();
            if state.stage != Stage::Held || state.holds.count() > 0 {
                return false;
            }
            state.start_release();
        }
        self.announce();
        self.proceed(Next::Reconcile);
        true
    }
}

impl LeaseInner {
    fn lead(&mut self, places: u32) {
        (self.sharing.leads, self.sharing.places) = (true, places);
    }

    /// How long readers may join: no longer than a reader yields to a writer. A later reader must
    /// let the store check whether a writer waits.
    fn let_in(&mut self, request: &LockRequest, fairness_timeout: Duration) -> bool {
        let now = LeaseInstant::now();
        let open = match self.stage {
            Stage::Acquiring => self.sharing.leads,
            _ => {
                let in_time =
                    now < self.handoffs.until && now.since(self.granted_at) < fairness_timeout;
                in_time && self.can_be_joined(now)
            }
        };
        if !open || self.length != request.hold_options.lease || self.sharing.places == 0 {
            return false;
        }
        self.sharing.places -= 1;
        self.sharing.expected += 1;
        true
    }

    fn can_be_joined(&self, now: LeaseInstant) -> bool {
        self.stage == Stage::Held && self.sharing.leads && self.is_certain(now)
    }

    /// The outcome of the leader's try; `None` while it is in flight.
    fn granted_to_joiners(&mut self) -> Option<bool> {
        match self.stage {
            Stage::Acquiring if self.sharing.leads => None,
            stage => Some(stage == Stage::Held),
        }
    }
}
