//! Grants by release: who releases a lock gives it to the next waiter, in whatever process, and tells
//! it, instead of waking all of them to try.
//!
//! The waiter stands by in the store from its last refused try on, under that try's number, so a
//! grant that is told was made after that try was sent: its first lease is believed in from there.
//! It is short, and renewed at once; a waiter that has died costs the others no more than that.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use crate::{
    FencingToken,
    backend::{StandBy, Wakeups},
    gate::Access,
    owner::OwnerId,
    request::Request,
};

/// What a release grants, before it is renewed.
pub const FIRST_LEASE: Duration = Duration::from_secs(1);
/// Guards that are dropped sooner cost no renewal.
pub(crate) const FIRST_RENEWAL: Duration = Duration::from_millis(10);
/// Grants that are kept for those who do not listen yet.
const MOST_EARLY: usize = 256;

/// What a release has given to a waiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The number of the try that stood by.
    pub(crate) ask: u32,
    pub(crate) token: FencingToken,
    /// How many were granted the lock so in a row.
    pub(crate) row: u32,
}

/// Who of one client listens for a grant.
#[derive(Debug, Default)]
pub(crate) struct Grants(Mutex<Listeners>);

#[derive(Debug, Default)]
struct Listeners {
    waiters: HashMap<String, watch::Sender<Option<Grant>>>,
    /// A waiter listens only once it knows that it is refused.
    early: VecDeque<(String, Grant)>,
}

impl Grants {
    /// A grant, as it is told.
    pub(crate) fn told(&self, owner: &str, grant: Grant) {
        let mut listeners = self.lock();
        if let Some(waiter) = listeners.waiters.get(owner) {
            waiter.send_replace(Some(grant));
            return;
        }
        if listeners.early.len() == MOST_EARLY {
            listeners.early.pop_front();
        }
        listeners.early.push_back((owner.to_owned(), grant));
    }

    /// `channel` is where this client is told of all its grants.
    pub(crate) fn listen(self: &Arc<Self>, owner: &OwnerId, channel: Wakeups) -> GrantEar {
        let mut listeners = self.lock();
        let owner = owner.to_string();
        let told = listeners.early.iter().position(|(early, _)| *early == owner);
        let early = told.and_then(|at| listeners.early.remove(at)).map(|(_, grant)| grant);
        let tells = watch::Sender::new(early);
        let mut hears = tells.subscribe();
        if early.is_some() {
            hears.mark_changed();
        }
        listeners.waiters.insert(owner.clone(), tells);
        drop(listeners);
        GrantEar { grants: Arc::clone(self), owner, hears, channel }
    }

    fn lock(&self) -> MutexGuard<'_, Listeners> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One waiter's ear for its grant; dropping it is leaving.
#[derive(Debug)]
pub(crate) struct GrantEar {
    grants: Arc<Grants>,
    owner: String,
    hears: watch::Receiver<Option<Grant>>,
    channel: Wakeups,
}

impl Drop for GrantEar {
    fn drop(&mut self) {
        self.grants.lock().waiters.remove(&self.owner);
    }
}

impl GrantEar {
    /// Waits until what is told from now on is heard.
    pub(crate) async fn subscribed(&mut self) {
        self.channel.subscribed().await;
    }

    /// Whether whatever was told since then was heard.
    pub(crate) fn hears_since(&self, then: Instant) -> bool {
        self.channel.silent_since(then)
    }

    /// The next grant. Cancel safe.
    pub(crate) async fn granted(&mut self) -> Grant {
        loop {
            if self.hears.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            if let Some(grant) = *self.hears.borrow_and_update() {
                return grant;
            }
        }
    }
}

impl Request {
    /// Whether it may be granted by a release: one that asks for the lock alone, and that is renewed.
    pub(crate) fn may_stand_by(&self) -> bool {
        self.kind.access(self.mode) == Access::Write && self.terms.renew
    }

    /// As the try with this number does.
    pub(crate) fn stand_by(&self, ask: u32) -> StandBy {
        let turns = self.fit().map_or(0, |_| self.most_turns());
        StandBy { ask, turns, lease: self.terms.lease.min(FIRST_LEASE) }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::{LockKey, backend::Backend, backend::Topic, memory::MemoryStore};

    fn grant(ask: u32) -> Grant {
        Grant { ask, token: FencingToken::new(7), row: 1 }
    }

    fn listen(grants: &Arc<Grants>, owner: &str) -> GrantEar {
        let key = LockKey::try_from("k").expect("a key");
        let channel = MemoryStore::new().wakeups(Topic::ReleaseRequest(&key));
        grants.listen(&OwnerId::of_name(owner), channel)
    }

    #[test]
    fn a_grant_is_heard_by_its_waiter_alone_whoever_is_first() {
        let grants = Arc::<Grants>::default();
        let mut hears = listen(&grants, "u:1");
        let mut other = listen(&grants, "u:2");
        grants.told("u:1", grant(1));
        grants.told("u:3", grant(2));
        assert_eq!(hears.granted().now_or_never(), Some(grant(1)));
        assert_eq!(hears.granted().now_or_never(), None, "once");
        assert_eq!(other.granted().now_or_never(), None);
        let mut late = listen(&grants, "u:3");
        assert_eq!(late.granted().now_or_never(), Some(grant(2)));
        drop(late);
        assert_eq!(listen(&grants, "u:3").granted().now_or_never(), None, "once");
    }

    #[test]
    fn the_last_grant_counts() {
        let grants = Arc::<Grants>::default();
        let mut hears = listen(&grants, "u:1");
        grants.told("u:1", grant(1));
        grants.told("u:1", grant(2));
        assert_eq!(hears.granted().now_or_never(), Some(grant(2)));
    }

    #[test]
    fn nothing_grows_for_those_who_have_left() {
        let grants = Arc::<Grants>::default();
        for number in 0..1_000 {
            let owner = format!("u:{number}");
            drop(listen(&grants, &owner));
            grants.told(&owner, grant(1));
        }
        let kept = grants.lock();
        assert_eq!((kept.waiters.len(), kept.early.len()), (0, MOST_EARLY));
    }
}
