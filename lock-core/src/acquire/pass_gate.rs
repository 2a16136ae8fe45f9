//! The way past the gate: at once, or through this process' own queue.
#![expect(
    clippy::manual_async_fn,
    reason = "thousands wait in these: an async function has room for its arguments twice"
)]

use std::{pin::pin, sync::Arc};

use lock_store::Unavailable;
use tokio::time::Instant;

use crate::{
    gate::{Access, Admission, Permit, QueuePlace},
    hold::{ClientInner, Entered, Lease, LockRequest, WaitDeadline},
    operate::{self, LongWait},
    types::AcquireError,
};

pub(super) fn pass_gate<'a>(
    client: &'a Arc<ClientInner>,
    request: &'a LockRequest,
    wait_deadline: &'a WaitDeadline,
) -> impl Future<Output = Result<Admission<Lease>, AcquireError>> + Send + 'a {
    async move {
        leavers_gone(client, request, wait_deadline).await;
        let access = Access::of(request.kind, request.mode);
        match wait_deadline.enter(&client.gate, request, access, request.handoff_key())? {
            Entered::Admitted(permit) => Ok(Admission::Contend(permit)),
            Entered::Queued(place) => stand_in_queue(client, request, wait_deadline, place).await,
        }
    }
}

/// Passes the gate of the next of several locks, whose `earlier` ones have passed theirs.
pub(super) async fn pass_gate_beside(
    client: &Arc<ClientInner>,
    request: &LockRequest,
    wait_deadline: &WaitDeadline,
    earlier: &[Arc<Lease>],
) -> Result<Permit<Lease>, AcquireError> {
    leavers_gone(client, request, wait_deadline).await;
    let access = Access::of(request.kind, request.mode);
    // None of them is taken by a hand-off: the others would be waited for while that one is held.
    let place = match wait_deadline.enter(&client.gate, request, access, None)? {
        Entered::Admitted(permit) => return Ok(permit),
        Entered::Queued(place) => place,
    };
    earlier.iter().for_each(|lease| lease.step_aside());
    match stand_in_queue(client, request, wait_deadline, place).await? {
        Admission::Contend(permit) => Ok(permit),
        Admission::Handoff(_) => unreachable!("BUG: it accepts no hand-off"),
    }
}

/// A caller that has just released the lock must not be refused because its own release is still in
/// flight: an attempt that does not wait lets the release be confirmed first.
pub(super) async fn leavers_gone(
    client: &ClientInner,
    request: &LockRequest,
    wait_deadline: &WaitDeadline,
) {
    let only_looks = wait_deadline.deadline.is_none() || request.options.max_waiters == Some(0);
    if only_looks
        && matches!(
            Access::of(request.kind, request.mode),
            Access::StoreQueued | Access::SingleContender
        )
        && let Some(leavers) = client.gate.pending_releases(&request.key)
    {
        let limit = wait_deadline.started_at + client.settings.command_timeout;
        let limit = wait_deadline.deadline.map_or(limit, |deadline| deadline.min(limit));
        let _ = tokio::time::timeout_at(limit, leavers).await;
    }
}

pub(crate) fn stand_in_queue<'a>(
    client: &'a Arc<ClientInner>,
    request: &'a LockRequest,
    wait_deadline: &'a WaitDeadline,
    mut place: QueuePlace<Lease>,
) -> impl Future<Output = Result<Admission<Lease>, AcquireError>> + Send + 'a {
    async move {
        let mut long_wait = None;
        loop {
            let look_up = Instant::now() + client.settings.command_timeout;
            let limit = wait_deadline.or_within(client.settings.command_timeout).min(look_up);
            let admitted = pin!(tokio::time::timeout_at(limit, place.admitted()));
            if let Ok(turn) = LongWait::during(&mut long_wait, admitted).await? {
                return turn.ok_or(AcquireError::Draining);
            }
            if long_wait.is_none() && Instant::now() >= operate::begins_at(wait_deadline) {
                long_wait = LongWait::begin(client, request, wait_deadline, None);
            }
            let is_over = wait_deadline.is_over();
            // While the store is silent, no permit ahead becomes free. Without this check a caller
            // that has just arrived would wait out its whole time behind a waiter that is not
            // answered. Earlier ones wait on: the store may be back within their wait.
            if let Some((since, why)) = client.silence(&request.key)
                && (is_over || !wait_deadline.began_before(since, client.settings.command_timeout))
            {
                return Err(why.into());
            }
            if wait_deadline.deadline.is_none() {
                let why = "an earlier release of this process is not confirmed";
                return Err(Unavailable::unsent(why).into());
            }
            if is_over {
                return Err(LongWait::named(&long_wait, wait_deadline.busy(request, None)));
            }
        }
    }
}
