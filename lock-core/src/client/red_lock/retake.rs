//! Takes back the servers that lose a lock during its hold, or that did not grant it at the beginning.

use std::sync::Arc;

use futures_util::future::{join_all, select_all};
use lock_store::runtime::LeaseInstant;

use super::{members::Members, round::Round};
use crate::types::AcquireError;

/// Runs until the guard of `members` is gone or the lock is lost.
pub(super) fn spawn(round: Round, members: &Arc<Members>) {
    let (round, members) = (Arc::new(round), Arc::clone(members));
    let tasks = &round.servers.clients[0].inner().tasks;
    tasks.spawn_task_of(&round, move |round| {
        let members = Arc::clone(&members);
        async move {
            // A request that is under way when the guard is dropped is dropped too, and its grant
            // released.
            members.ended.run_until_cancelled(retake(&round, &members)).await;
        }
    });
}

/// Requests the lock from every server that does not have it, as often as the others renew it.
async fn retake(round: &Round, members: &Members) {
    loop {
        drop(members.remove_ended());
        // Before the check: if it succeeds, they are at least a majority.
        let signals = members.signals();
        if members.check().is_err() {
            return;
        }
        let has = |server| members.read(|grants| grants.iter().any(|grant| grant.server == server));
        let missing: Vec<_> = (0..round.members.len()).filter(|server| !has(*server)).collect();
        if missing.is_empty() {
            select_all(signals).await;
            continue;
        }
        tokio::time::sleep(round.lease / 3).await;
        let held = LeaseInstant::now().since(members.granted_at);
        let Some(again) = round.again_after(held) else { return };
        let ends = round.options.max_hold.map(|most| members.granted_at.after(most));
        for granted in join_all(missing.into_iter().map(|server| again.request(server))).await {
            match granted {
                Ok(grant) => {
                    // Its own `max_hold` has begun with its answer.
                    ends.inspect(|ends| grant.guard.hold().end_by(*ends));
                    drop(members.add(grant));
                }
                Err(AcquireError::Draining) => return,
                // Taken, or not reachable: later.
                Err(_) => {}
            }
        }
    }
}
