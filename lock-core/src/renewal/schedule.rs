//! When each hold must be looked at next.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{
        Arc, MutexGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use crate::{LockKey, clock::Moment, hold::Hold, lease, runtime::sync::Mutex};

/// A hold's place in the schedule: the moment when it is due, or one so little later that no other
/// hold has it.
pub(crate) type Place = Moment;

/// Holds that were renewed together are due at the same moment. Theirs are found with one look.
const A_BATCH: Duration = Duration::from_nanos(128);

/// When each hold is due, soonest first.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    due: Mutex<Due>,
    pub(super) sooner: Notify,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Due {
    holds: BTreeMap<Place, Weak<Hold>>,
}

impl Due {
    /// A place that no other hold has, though it were due at the same moment.
    fn place(&self, mut at: Moment) -> Place {
        while let Some((last, _)) = self.holds.range(at..at.after(A_BATCH)).next_back() {
            at = last.next();
        }
        at
    }
}

impl Schedule {
    /// Gives a hold its place, or a new one.
    pub(crate) fn add(&self, hold: &Arc<Hold>) {
        let at = hold.due();
        let stands = hold.state().due.is_some_and(|place| place >= at && place < at.after(A_BATCH));
        if !stands {
            self.add_at(hold, at);
        }
    }

    /// The place of one goes over to the next who has what it had.
    pub(crate) fn hand_on(&self, place: Place, former: &Hold, next: &Arc<Hold>) {
        if let Entry::Occupied(mut due) = self.lock().holds.entry(place)
            && std::ptr::eq(due.get().as_ptr(), former)
        {
            due.insert(Arc::downgrade(next));
            next.state().due = Some(place);
        }
    }

    pub(crate) fn add_at(&self, hold: &Arc<Hold>, at: Moment) {
        let first = {
            let mut due = self.lock();
            let mut state = hold.state();
            if !state.has_an_end() {
                return;
            }
            if let Some(old) = state.due.take() {
                due.holds.remove(&old);
            }
            let place = due.place(at);
            state.due = Some(place);
            drop(state);
            due.holds.insert(place, Arc::downgrade(hold));
            due.holds.first_key_value().is_some_and(|(first, _)| *first == place)
        };
        if first {
            self.sooner.notify_one();
        }
    }

    /// Gives up the place that a hold had, if nobody else has it by now: it may have come due
    /// meanwhile, and be had by a hold that is due at the same moment.
    pub(crate) fn remove(&self, hold: &Hold, place: Place) {
        if let Entry::Occupied(due) = self.lock().holds.entry(place)
            && std::ptr::eq(due.get().as_ptr(), hold)
        {
            due.remove();
        }
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.sooner.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn first(&self) -> Option<Moment> {
        self.lock().holds.first_key_value().map(|(at, _)| *at)
    }

    /// The live holds on a key, at the cost of a look at all: for tests, and while the store is down.
    pub(crate) fn holds_on(&self, key: &LockKey) -> Vec<Arc<Hold>> {
        let holds: Vec<_> = self.lock().holds.values().filter_map(Weak::upgrade).collect();
        holds.into_iter().filter(|hold| hold.key == *key).collect()
    }

    /// Takes what is due, and what is due so soon that it may come along. Until it is given its next
    /// place it stands at its end: it is looked at then, whatever became of it.
    pub(super) fn take_due(&self, now: Moment) -> Vec<Arc<Hold>> {
        let mut taken = Vec::new();
        let mut due = self.lock();
        let mut limit = now;
        while let Some(entry) = due.holds.first_entry() {
            if *entry.key() > limit {
                break;
            }
            if let Some(hold) = entry.remove().upgrade() {
                let window = {
                    let mut state = hold.state();
                    state.due = None;
                    lease::renewal_window(state.terms.lease)
                };
                limit = limit.max(now.after(window));
                taken.push(hold);
            }
        }
        for hold in &taken {
            let end = hold.end();
            if end > now {
                let place = due.place(end);
                hold.state().due = Some(place);
                due.holds.insert(place, Arc::downgrade(hold));
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
    use super::*;
    use crate::{Acquire, LockClient, LockGuard};

    /// A hold, and one who takes it over when it is left.
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
    async fn a_hold_that_is_being_renewed_stays_known_and_is_looked_at_at_its_end() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let schedule = &client.engine().schedule;
        let due = guard.hold().due();
        let taken = schedule.take_due(due);
        assert_eq!((taken.len(), schedule.first()), (1, Some(guard.hold().end())));
        assert_eq!(schedule.holds_on(guard.key()).len(), 1);
        schedule.add(guard.hold());
        assert_eq!(schedule.first(), Some(due), "it has one place");
        guard.release().await.expect("it is held");
        assert_eq!(schedule.first(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_another_hold_has_by_now_stays_with_it() {
        let client = LockClient::in_memory();
        let ask = |key: &str| client.write(key).acquire();
        let [left, stays] = [ask("a").await, ask("b").await].map(|guard| guard.expect("free"));
        let schedule = &client.engine().schedule;
        let place = left.hold().state().due.take().expect("it stands there");
        // Before its place is given up both are due, and the other one is so again.
        schedule.take_due(place.after(crate::lease::renewal_window(crate::lease::DEFAULT_LEASE)));
        schedule.add_at(stays.hold(), place);
        schedule.remove(left.hold(), place);
        schedule.hand_on(place, left.hold(), left.hold());
        assert_eq!(schedule.first(), Some(place));
        let [known] = &schedule.holds_on(stays.key())[..] else { panic!("one hold") };
        assert!(Arc::ptr_eq(known, stays.hold()));
    }

    #[tokio::test(start_paused = true)]
    async fn holds_that_are_due_at_the_same_moment_are_all_known() {
        let client = LockClient::in_memory();
        let ask = |key: &str| client.write(key).acquire();
        let guards = [ask("a").await, ask("b").await, ask("c").await];
        let guards = guards.map(|guard| guard.expect("it is free"));
        let schedule = &client.engine().schedule;
        let due = guards[0].hold().due();
        assert_eq!(schedule.take_due(due).len(), guards.len());
        for guard in &guards {
            assert_eq!(schedule.holds_on(guard.key()).len(), 1, "while it is renewed");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_hold_over_stands_where_it_stood() {
        let client = LockClient::in_memory();
        let (former, next) = one_behind(&client, client.write("k")).await;
        let (owner, place) = (former.hold().owner.clone(), former.hold().state().due);
        drop(former);
        let next = next.await;
        assert_eq!(next.hold().owner, owner, "it was handed over");
        assert_eq!(next.hold().state().due, place);
        let [known] = &client.engine().schedule.holds_on(next.key())[..] else {
            panic!("one hold")
        };
        assert!(Arc::ptr_eq(known, next.hold()));
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_hold_over_is_looked_at_when_its_own_time_is_over() {
        let client = LockClient::in_memory();
        let most = Duration::from_secs(1);
        let (former, next) = one_behind(&client, client.write("k").max_hold(most)).await;
        drop(former);
        let next = next.await;
        assert_eq!(client.engine().schedule.first(), Some(Moment::now().after(most)));
        assert_eq!(next.hold().state().due, client.engine().schedule.first());
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_over_what_is_being_renewed_is_not_left_until_its_end() {
        let client = LockClient::in_memory();
        let (former, next) = one_behind(&client, client.write("k")).await;
        let schedule = &client.engine().schedule;
        let due = former.hold().due();
        assert_eq!(schedule.take_due(due).len(), 1);
        assert_eq!(schedule.first(), Some(former.hold().end()));
        drop(former);
        let next = next.await;
        assert_eq!((schedule.first(), next.hold().state().due), (Some(due), Some(due)));
    }
}
