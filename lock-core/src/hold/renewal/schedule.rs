//! The schedule: when each lease must be checked next.

use std::{
    collections::{BTreeMap, HashSet, btree_map::Entry},
    sync::{
        Arc, MutexGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use lock_store::{
    LockKey, lease,
    runtime::{LeaseInstant, Mutex},
};
use tokio::sync::Notify;

use super::batch::BATCH;
use crate::hold::{Lease, Stage, linger::LingeringGuard};

/// A lease's place in the schedule: the moment when it is due, or one so little later that no other
/// lease has it.
pub(crate) type ScheduleKey = LeaseInstant;

/// Leases that were renewed together are due at the same moment; they are found by one range query.
const A_BATCH: Duration = Duration::from_nanos(128);

/// When each lease is due, soonest first.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    due: Mutex<Due>,
    pub(in crate::hold) lingering: Mutex<Vec<LingeringGuard>>,
    pub(crate) sooner: Notify,
    closed: AtomicBool,
    /// All leases are renewed by one confirmation of a session: the more at once, the fewer
    /// confirmations.
    pub(super) together: bool,
}

#[derive(Debug, Default)]
struct Due {
    leases: BTreeMap<ScheduleKey, Weak<Lease>>,
    /// When the task looks again at the latest. It may be earlier than the first lease is due: the
    /// one that was first may have been released since.
    looks_at: Option<LeaseInstant>,
}

impl Due {
    /// A place that no other lease has, though it were due at the same moment.
    fn place(&self, mut at: LeaseInstant) -> ScheduleKey {
        while let Some((last, _)) = self.leases.range(at..at.after(A_BATCH)).next_back() {
            at = last.next();
        }
        at
    }
}

impl Schedule {
    /// `together`: the store has one lease for all locks.
    pub(crate) fn new(together: bool) -> Self {
        Self { together, ..Self::default() }
    }

    /// Gives a lease its place, or a new one.
    pub(crate) fn add(&self, lease: &Arc<Lease>) {
        let at = lease.due();
        let is_placed =
            lease.state().due.is_some_and(|place| place >= at && place < at.after(A_BATCH));
        if !is_placed {
            self.add_at(lease, at);
        }
    }

    pub(crate) fn add_at(&self, lease: &Arc<Lease>, at: LeaseInstant) {
        let late = {
            let mut due = self.lock();
            let mut state = lease.state();
            // A lease that is being released, or is on its way to a waiter, is not renewed: a renewal
            // that is executed after the release would be answered as lost.
            if state.stage != Stage::Held {
                return;
            }
            if let Some(old) = state.due.take() {
                due.leases.remove(&old);
            }
            let place = due.place(at);
            state.due = Some(place);
            drop(state);
            due.leases.insert(place, Arc::downgrade(lease));
            let late = due.looks_at.is_none_or(|looks_at| place < looks_at);
            if late {
                due.looks_at = Some(place);
            }
            late
        };
        if late {
            // The task sleeps for longer than that. Otherwise it is not woken, since most leases are
            // released long before they are due.
            self.sooner.notify_one();
        }
    }

    /// Gives up the place that a lease had, unless another has it by now: the lease may have come
    /// due meanwhile, and another one that is due at the same moment may have been given the place.
    pub(crate) fn remove(&self, lease: &Lease, place: ScheduleKey) {
        if let Entry::Occupied(due) = self.lock().leases.entry(place)
            && std::ptr::eq(due.get().as_ptr(), lease)
        {
            due.remove();
        }
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.sooner.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Returns when the first lease is due. The task sleeps until then: a lease that is due earlier
    /// wakes it.
    pub(crate) fn next_look(&self) -> Option<LeaseInstant> {
        let mut due = self.lock();
        let first = due.leases.first_key_value().map(|(at, _)| *at);
        // Under the lock under which `add_at` compares: a lease that is added at this moment is
        // either seen here, or finds this time and wakes the task.
        due.looks_at = first;
        first
    }

    #[cfg(test)]
    pub(crate) fn first(&self) -> Option<LeaseInstant> {
        self.lock().leases.first_key_value().map(|(at, _)| *at)
    }

    /// The live leases on a key. Scans all leases: for tests, while the store is down, and after a lock
    /// was taken away.
    pub(crate) fn leases_on(&self, key: &LockKey) -> Vec<Arc<Lease>> {
        let leases: Vec<_> = self.lock().leases.values().filter_map(Weak::upgrade).collect();
        leases.into_iter().filter(|lease| lease.key == *key).collect()
    }

    /// The live leases on these keys. Scans all leases: once a second at most, and only while callers
    /// wait for long.
    pub(crate) fn leases_at(&self, keys: &HashSet<LockKey>) -> Vec<Arc<Lease>> {
        if keys.is_empty() {
            return Vec::new();
        }
        let leases: Vec<_> = self.lock().leases.values().filter_map(Weak::upgrade).collect();
        leases.into_iter().filter(|lease| keys.contains(&lease.key)).collect()
    }

    /// Has every lease checked now, because some may be gone.
    pub(crate) fn renew_all(&self, some_were_taken: bool) {
        let leases: Vec<_> = self.lock().leases.values().filter_map(Weak::upgrade).collect();
        self.renew_now(leases, some_were_taken);
    }

    /// Has these leases checked now.
    pub(crate) fn renew_now(&self, leases: Vec<Arc<Lease>>, may_be_taken: bool) {
        let now = LeaseInstant::now();
        for lease in leases {
            // If the renewal finds the lease gone then, the loss is reported as taken away by an
            // operator.
            lease.state().may_be_taken |= may_be_taken;
            self.add_at(&lease, now);
        }
    }

    /// Takes the leases that are due. If they do not fill a batch, also those that are due soon enough
    /// to be renewed with them.
    /// Until each has its next place it is scheduled at its end, and is then checked whatever its
    /// renewal's outcome.
    pub(crate) fn take_due(&self, now: LeaseInstant) -> Vec<Arc<Lease>> {
        let mut taken = Vec::new();
        let mut due = self.lock();
        let mut limit = now;
        while let Some(entry) = due.leases.first_entry() {
            let is_full = !self.together && taken.len() >= BATCH;
            if *entry.key() > limit || (is_full && *entry.key() > now) {
                break;
            }
            if let Some(lease) = entry.remove().upgrade() {
                let window = {
                    let mut state = lease.state();
                    state.due = None;
                    lease::renewal_window(state.length)
                };
                limit = limit.max(now.after(window));
                taken.push(lease);
            }
        }
        for lease in &taken {
            // Still in the schedule while its renewal is in flight: if the store never answers, the
            // lease is lost at its end all the same.
            let mut state = lease.state();
            let end = state.end();
            if end > now {
                let place = due.place(end);
                state.due = Some(place);
                due.leases.insert(place, Arc::downgrade(lease));
            }
        }
        taken
    }

    fn lock(&self) -> MutexGuard<'_, Due> {
        self.due.lock()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::{
        client::{Acquire, LockClient},
        guard::LockGuard,
    };

    /// Acquires a hold, and a waiter that takes it over when it is left.
    async fn one_behind(
        client: &LockClient,
        next: Acquire,
    ) -> (LockGuard, impl Future<Output = LockGuard>) {
        let before = client.write("k").acquire().await.expect("it is free");
        let hot = tokio::spawn(client.write("k").acquire());
        tokio::task::yield_now().await;
        let next = tokio::spawn(next.acquire());
        tokio::task::yield_now().await;
        before.release().await.expect("it is held");
        let hot = hot.await.expect("no panic").expect("it is free");
        (hot, async { next.await.expect("no panic").expect("it is handed over") })
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_under_renewal_is_checked_at_its_end() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let schedule = &client.inner().schedule;
        let due = guard.hold().lease.due();
        let taken = schedule.take_due(due);
        assert_eq!((taken.len(), schedule.first()), (1, Some(guard.hold().valid_until())));
        assert_eq!(schedule.leases_on(guard.key()).len(), 1);
        schedule.add(&guard.hold().lease);
        assert_eq!(schedule.first(), Some(due), "it has one place");
        guard.release().await.expect("it is held");
        assert_eq!(schedule.first(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_task_is_woken_only_if_it_would_be_late() {
        let client = LockClient::in_memory();
        let acquire = |key: &str| client.write(key).acquire();
        let [one, other] =
            [acquire("a").await, acquire("b").await].map(|guard| guard.expect("free"));
        let [one, other] = [&one.hold().lease, &other.hold().lease];
        let (schedule, now) = (Schedule::default(), LeaseInstant::now());
        let woken = || schedule.sooner.notified().now_or_never().is_some();
        let seconds = |seconds| now.after(Duration::from_secs(seconds));
        schedule.add_at(one, seconds(10));
        assert!(woken());
        assert_eq!(schedule.next_look(), Some(seconds(10)));
        let place = one.state().due.take().expect("BUG: a lease that is due is in the schedule");
        schedule.remove(one, place);
        schedule.add_at(other, seconds(20));
        assert!(!woken(), "it looks again in ten seconds");
        schedule.add_at(one, seconds(5));
        assert!(woken());
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_another_hold_has_by_now_stays_with_it() {
        let client = LockClient::in_memory();
        let ask = |key: &str| client.write(key).acquire();
        let [left, stays] = [ask("a").await, ask("b").await].map(|guard| guard.expect("free"));
        let schedule = &client.inner().schedule;
        let place = left
            .hold()
            .lease
            .state()
            .due
            .take()
            .expect("BUG: a lease that is due is in the schedule");
        // Before its place is given up both are due; the other one is then due again.
        schedule.take_due(place.after(lease::renewal_window(lease::DEFAULT_LEASE)));
        schedule.add_at(&stays.hold().lease, place);
        schedule.remove(&left.hold().lease, place);
        assert_eq!(schedule.first(), Some(place));
        let [known] = &schedule.leases_on(stays.key())[..] else { panic!("one lease") };
        assert!(Arc::ptr_eq(known, &stays.hold().lease));
    }

    #[tokio::test(start_paused = true)]
    async fn holds_that_are_due_at_the_same_moment_are_all_known() {
        let client = LockClient::in_memory();
        let ask = |key: &str| client.write(key).acquire();
        let guards = [ask("a").await, ask("b").await, ask("c").await];
        let guards = guards.map(|guard| guard.expect("it is free"));
        let schedule = &client.inner().schedule;
        let due = guards[0].hold().lease.due();
        assert_eq!(schedule.take_due(due).len(), guards.len());
        for guard in &guards {
            assert_eq!(schedule.leases_on(guard.key()).len(), 1, "while it is renewed");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_taken_over_hold_keeps_its_position() {
        let client = LockClient::in_memory();
        let (former, next) = one_behind(&client, client.write("k")).await;
        let (owner, place) = (former.hold().lease.owner.clone(), former.hold().lease.state().due);
        drop(former);
        let next = next.await;
        assert_eq!(next.hold().lease.owner, owner, "it was handed over");
        assert_eq!(next.hold().lease.state().due, place);
        let [known] = &client.inner().schedule.leases_on(next.key())[..] else {
            panic!("one lease")
        };
        assert!(Arc::ptr_eq(known, &next.hold().lease));
    }

    #[tokio::test(start_paused = true)]
    async fn a_taken_over_hold_is_checked_at_its_own_deadline() {
        let client = LockClient::in_memory();
        let most = Duration::from_secs(1);
        let (former, next) = one_behind(&client, client.write("k").max_hold(most)).await;
        drop(former);
        let next = next.await;
        assert_eq!(client.inner().schedule.first(), Some(LeaseInstant::now().after(most)));
        assert_eq!(next.hold().lease.state().due, client.inner().schedule.first());
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_taken_over_during_renewal_is_checked_before_its_end() {
        let client = LockClient::in_memory();
        let (former, next) = one_behind(&client, client.write("k")).await;
        let schedule = &client.inner().schedule;
        let due = former.hold().lease.due();
        assert_eq!(schedule.take_due(due).len(), 1);
        assert_eq!(schedule.first(), Some(former.hold().valid_until()));
        drop(former);
        let next = next.await;
        assert_eq!((schedule.first(), next.hold().lease.state().due), (Some(due), Some(due)));
    }
}
