//! Deadlocks between scopes of any processes, found from the records of waiters.
//!
//! Each holder that waits has recorded the lock that it waits for. The search follows these
//! records, from the holders of the lock that a scope waits for. If it reaches a lock that the
//! scope itself holds, all of them wait forever. All members of such a circle find it, and agree on
//! which of them began to wait last.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::SystemTime,
};

use lock_store::{Kind, LockKey};

use super::inspect::holders;
use crate::hold::{ClientInner, ScopeHolds};

/// How many locks are looked at. A longer circle is not found.
const MOST_LOCKS: usize = 32;

/// Scopes that wait for each other.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Circle {
    /// The keys, from the one that is waited for to one that the scope holds.
    pub(super) keys: Vec<LockKey>,
    /// The waiting scopes, each with the owner of its lock in this circle. The scope that looks is
    /// the last.
    members: Vec<(SystemTime, String)>,
}

impl Circle {
    /// Whether the scope that looks began to wait last. At the same millisecond the owner decides, so that
    /// exactly one is the last for all members.
    pub(super) fn is_last(&self) -> bool {
        self.members.iter().max() == self.members.last()
    }
}

/// Finds a circle from `key`, for which `scope` has waited since `since`, to a lock of the scope.
/// Records may be outdated: only a circle that is found again a while later exists.
pub(super) async fn find(
    client: &Arc<ClientInner>,
    scope: &ScopeHolds,
    key: &LockKey,
    since: SystemTime,
) -> Option<Circle> {
    let own = scope.live(|of| of == client.owners.client());
    let own: HashSet<String> = own.iter().map(|hold| hold.lease.owner.to_string()).collect();
    if own.is_empty() {
        return None;
    }
    let mut seen = HashSet::from([key.clone()]);
    let mut next = VecDeque::from([(vec![key.clone()], Vec::new())]);
    while let Some((keys, members)) = next.pop_front() {
        let found = holders(client, keys.last()?).await.ok()?;
        // One of several permits may be returned by a holder that waits for nothing.
        if found.kind == Some(Kind::Semaphore) {
            continue;
        }
        for holder in found.holders {
            if own.contains(&holder.owner) {
                let members = members.into_iter().chain([(since, holder.owner)]);
                return Some(Circle { keys, members: members.collect() });
            }
            let Some(work) = holder.work else { continue };
            let (Some(waits_for), Some(waits_since)) = (work.waits_for, work.waits_since) else {
                continue;
            };
            let Ok(waits_for) = LockKey::try_from(waits_for) else { continue };
            if seen.len() < MOST_LOCKS && seen.insert(waits_for.clone()) {
                let keys = keys.iter().cloned().chain([waits_for]).collect();
                let members = members.iter().cloned().chain([(waits_since, holder.owner)]);
                next.push_back((keys, members.collect()));
            }
        }
    }
    None
}
