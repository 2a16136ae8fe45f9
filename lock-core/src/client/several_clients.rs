//! A multi-lock whose members are of several clients: all or none, over stores that know nothing of each
//! other.
//!
//! Nothing is held while it waits. The client whose locks were refused the last time comes first,
//! with the time that is left. The others are tried after it without a wait. If one is refused,
//! everything is released. So two such acquisitions never wait for each other, whatever the order
//! of their members.

use std::time::Duration;

use lock_store::runtime::jittered;

use super::LockClient;
use crate::{
    acquire,
    guard::LockGuard,
    hold::{LockRequest, WaitDeadline},
    types::AcquireError,
};

/// The requests of one client, in the order of their keys.
#[derive(Debug)]
pub(super) struct ClientGroup {
    pub(super) client: LockClient,
    pub(super) requests: Vec<LockRequest>,
}

/// Two that refuse each other would otherwise try in step, again and again.
const STAND_BACK: Duration = Duration::from_millis(10);

/// Acquires the locks of all groups or none. The guards are in the order of the groups.
pub(super) async fn enter(
    groups: &[ClientGroup],
    wait_deadline: WaitDeadline,
) -> Result<Vec<LockGuard>, AcquireError> {
    let mut first = 0;
    loop {
        let (at, refused) = match try_all(groups, first, wait_deadline).await {
            Ok(guards) => return Ok(guards),
            Err((at, AcquireError::Busy(busy))) => (at, busy),
            Err((_, why)) => return Err(why),
        };
        tokio::time::sleep(jittered(STAND_BACK)).await;
        if wait_deadline.is_over() {
            let waited = wait_deadline.started_at.elapsed();
            return Err(AcquireError::Busy(refused.after(waited)));
        }
        first = at;
    }
}

/// One attempt. A refusal names its group; the locks that were acquired before are released then.
async fn try_all(
    groups: &[ClientGroup],
    first: usize,
    wait_deadline: WaitDeadline,
) -> Result<Vec<LockGuard>, (usize, AcquireError)> {
    let mut acquired: Vec<Vec<LockGuard>> = groups.iter().map(|_| Vec::new()).collect();
    let others = (0..groups.len()).filter(|at| *at != first);
    for at in std::iter::once(first).chain(others) {
        let ClientGroup { client, requests } = &groups[at];
        let wait = if at == first { wait_deadline } else { WaitDeadline::of(Duration::ZERO) };
        let entered = acquire::enter_all(client.inner(), requests, wait);
        let entered = acquire::unless_lost(acquired.iter().flatten(), entered).await;
        acquired[at] = entered.unwrap_or_else(|lost| Err(lost.into())).map_err(|why| (at, why))?;
    }
    let guards: Vec<_> = acquired.into_iter().flatten().collect();
    // While the last store answered, the lease of the first lock may have ended.
    let held = guards.iter().try_for_each(|guard| guard.hold().check());
    held.map_err(|lost| (first, lost.into()))?;
    Ok(guards)
}
