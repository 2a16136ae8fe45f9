//! Requests one lock from all servers at once, and repeats that until a majority grants it.

use std::{sync::Arc, time::Duration};

use futures_util::{
    future::select_all,
    stream::{FuturesUnordered, StreamExt},
};
use lock_key::{MAX_DURATION, MIN_LEASE};
use lock_store::{
    Holder, Kind, OwnerId, Unavailable, WakeTopic, WakeupReceiver, runtime::jittered,
};
use tokio::time::Instant;

use super::{
    Servers,
    members::{Grant, remaining},
};
use crate::{
    client::{Lockable, Scope, SingleLock},
    gate::Permit,
    hold::{LockRequest, WaitDeadline},
    types::{AcquireError, AcquireOptions},
};

/// The least time that slower servers have to answer once a majority has granted.
const LEAST_GRACE: Duration = Duration::from_millis(10);
/// A refused acquisition waits for a random time up to this: two acquisitions that have split the
/// servers should not do so again. It also bounds how often an acquisition wakes itself by
/// releasing the grants of a minority.
const STAND_BACK: Duration = Duration::from_millis(40);
/// How long it then waits for a wake-up.
const RETRY: Duration = Duration::from_millis(200);

/// A request that is sent to every server until it is granted.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) servers: Arc<Servers>,
    /// The lock on each server.
    pub(super) members: Vec<SingleLock>,
    pub(super) options: AcquireOptions,
    pub(super) scope: Option<Scope>,
    pub(super) lease: Duration,
}

/// The answers of the servers to one round.
#[derive(Default)]
struct Answers {
    granted: Vec<Grant>,
    refused: usize,
    unavailable: Option<Unavailable>,
    other: Option<AcquireError>,
}

impl Answers {
    fn add(&mut self, answer: Result<Grant, AcquireError>) {
        match answer {
            // Two addresses of one server are one server.
            Ok(grant) if self.granted.iter().any(|other| other.run_id == grant.run_id) => {
                let run_id = grant.run_id.as_str();
                tracing::warn!(
                    run_id,
                    "two of the addresses lead to the same server, which counts once"
                );
                self.refused += 1;
            }
            Ok(grant) => self.granted.push(grant),
            Err(AcquireError::Unavailable(why)) => self.unavailable = Some(why),
            Err(AcquireError::Busy(_)) => self.refused += 1,
            Err(other) => self.other = Some(other),
        }
    }
}

impl Round {
    pub(super) async fn until_granted(
        &self,
        request: &LockRequest,
        wait_deadline: WaitDeadline,
        permit: &mut Permit<()>,
    ) -> Result<Vec<Grant>, AcquireError> {
        let mut wakeups: Vec<WakeupReceiver> = Vec::new();
        loop {
            let answers = self.request_all().await;
            let held = answers.granted;
            if remaining(&held, self.servers.majority()) > Duration::ZERO {
                return Ok(held);
            }
            // Given back before anything else is tried.
            drop(held);
            if let Some(other) = answers.other {
                return Err(other);
            }
            if wait_deadline.is_over() {
                return Err(match answers.unavailable {
                    Some(unavailable) if answers.refused == 0 => unavailable.into(),
                    _ => wait_deadline.busy(request, None),
                });
            }
            permit.wait(request.options.max_waiters)?;
            if wakeups.is_empty() {
                wakeups = self.listen(request);
            }
            let limit = wait_deadline.or_within(Duration::ZERO);
            tokio::time::sleep_until(limit.min(Instant::now() + jittered(STAND_BACK))).await;
            let woken = select_all(wakeups.iter_mut().map(|wakeups| Box::pin(wakeups.woken())));
            let again = limit.min(Instant::now() + jittered(RETRY));
            let _ = tokio::time::timeout_at(again, woken).await;
            wakeups.iter_mut().for_each(WakeupReceiver::listen);
        }
    }

    fn listen(&self, request: &LockRequest) -> Vec<WakeupReceiver> {
        let owner = OwnerId::permit();
        let kind = Kind::NonReentrant;
        let holder = Holder::new(kind, request.key.clone(), owner);
        let wakeups = |member: &SingleLock| {
            let mut wakeups = member.client.inner().store.wakeups(WakeTopic::Turn(holder.clone()));
            wakeups.listen();
            wakeups
        };
        self.members.iter().map(wakeups).collect()
    }

    /// Sends the acquisition to all servers at once, and waits until the outcome is certain. On a server
    /// that has not answered by then, or that was restarted, it is released.
    async fn request_all(&self) -> Answers {
        let started = Instant::now();
        let mut answers = Answers::default();
        let mut pending: FuturesUnordered<_> =
            (0..self.members.len()).map(|server| self.request(server)).collect();
        let mut enough_at = None;
        loop {
            let limit = enough_at.unwrap_or(started + MAX_DURATION);
            let Ok(Some(answer)) = tokio::time::timeout_at(limit, pending.next()).await else {
                return answers;
            };
            answers.add(answer);
            if answers.granted.len() >= self.servers.majority() && enough_at.is_none() {
                enough_at = Some(Instant::now() + started.elapsed().max(LEAST_GRACE));
            }
            let lost = self.members.len() - pending.len() - answers.granted.len();
            if self.members.len() - lost < self.servers.majority() {
                return answers;
            }
        }
    }

    /// Requests the lock from one server, without a wait.
    pub(super) async fn request(&self, server: usize) -> Result<Grant, AcquireError> {
        let member = self.members[server].clone();
        let store = Arc::clone(&member.client.inner().store);
        let guard =
            member.acquire(self.options.clone(), self.scope.clone(), Duration::ZERO).await?;
        // After the grant: a server that is up for that long by now was up when it granted.
        let identity = store.identity().await?;
        let longest = self.servers.longest_lease();
        if identity.up < longest {
            let (up, id) = (identity.up, &identity.id);
            return Err(Unavailable::unsent(format!(
                "server {id} started {up:?} ago and may have forgotten leases of up to {longest:?}"
            ))
            .into());
        }
        Ok(Grant { server, run_id: identity.id, guard })
    }

    /// The same for a server that is taken back `held` after the grant. `None` when `max_hold` is
    /// used up.
    pub(super) fn again_after(&self, held: Duration) -> Option<Self> {
        let mut again = self.clone();
        if let Some(most) = &mut again.options.max_hold {
            *most = most.checked_sub(held).filter(|left| *left >= MIN_LEASE)?;
        }
        // The program acquires nothing here: its order of locks does not change.
        again.options.in_order = false;
        Some(again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn two_addresses_of_one_server_count_once() {
        let client = crate::LockClient::in_memory();
        let mut answers = Answers::default();
        for (server, (key, id)) in
            [("a", "one"), ("b", "one"), ("c", "other")].into_iter().enumerate()
        {
            let guard = client.write(key).acquire().await.expect("it is free");
            answers.add(Ok(Grant { server, run_id: id.to_owned(), guard }));
        }
        assert_eq!((answers.granted.len(), answers.refused), (2, 1));
        drop(client.write("b").wait(RETRY).acquire().await.expect("it is given back"));
    }
}
