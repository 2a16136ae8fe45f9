//! The permits and the waiters of one key in this process.

use std::{collections::VecDeque, sync::Weak, time::Duration};

use tokio::{sync::oneshot, time::Instant};

use super::{Access, Admission, HandoffKey, MAX_IN_LINE, Tenant, Wait};

/// The state of one key. There is one for each lock that is held, so the queue, which most keys do not
/// need, is allocated on demand.
#[derive(Debug)]
pub(super) struct KeyState<T: Tenant> {
    pub(super) readers: u32,
    /// Permits with a place in the store's queue.
    pub(super) lined_up: u32,
    /// Permits that the store has refused, and that wait for it.
    pub(super) waiting_at_store: u32,
    /// Permits that hold a lock that others may hold too, or that keep no other out.
    staying: u32,
    /// Permits whose release is not confirmed.
    releasing: u32,
    /// Releases of waiters in the store's queue whose command has not been sent yet. New places in that
    /// queue come after it.
    pub(super) unsent: u32,
    /// Releases that were started so far.
    left_so_far: u32,
    pub(super) writing: bool,
    /// A permit contends for a semaphore.
    contending: bool,
    /// The store has refused it: it waits for a permit there.
    pub(super) refused: bool,
    wait_queue: Option<Box<WaitQueue<T>>>,
    /// The lease of the reader inside that leads.
    pub(super) leader: Weak<T>,
}

/// The waiters of a key.
#[derive(Debug)]
pub(super) struct WaitQueue<T: Tenant> {
    queue: VecDeque<Waiter<T>>,
    watchers: Vec<ReleaseWatcher>,
    /// The waiters do not contend in the store before this.
    pub(super) defer_until: Option<Instant>,
}

/// Notified when all releases up to a number are confirmed.
#[derive(Debug)]
struct ReleaseWatcher {
    last: u32,
    remaining: u32,
    gone: oneshot::Sender<()>,
}

#[derive(Debug)]
pub(super) struct Waiter<T: Tenant> {
    pub(super) access: Access,
    /// The lease that it would take.
    pub(super) accepts: Option<HandoffKey>,
    pub(super) wait: Option<Wait>,
    pub(super) admit: oneshot::Sender<Admission<T>>,
}

impl<T: Tenant> Default for KeyState<T> {
    fn default() -> Self {
        Self {
            readers: 0,
            lined_up: 0,
            waiting_at_store: 0,
            staying: 0,
            releasing: 0,
            unsent: 0,
            left_so_far: 0,
            writing: false,
            contending: false,
            refused: false,
            wait_queue: None,
            leader: Weak::new(),
        }
    }
}

impl<T: Tenant> Default for WaitQueue<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), watchers: Vec::new(), defer_until: None }
    }
}

impl<T: Tenant> KeyState<T> {
    pub(super) fn admits(&self, access: Access) -> bool {
        match access {
            Access::Read => !self.writing,
            Access::Write => !self.writing && self.readers == 0,
            Access::SingleContender => !self.contending,
            Access::StoreQueued => self.lined_up < MAX_IN_LINE,
            Access::Holding => true,
            Access::Follower => !self.writing,
        }
    }

    /// Whether a new place in the store's line has to wait until those that give up theirs have been
    /// sent on their way.
    pub(super) fn is_behind_leavers(&self, access: Access) -> bool {
        access == Access::StoreQueued && self.unsent > 0
    }

    pub(super) fn enter(&mut self, access: Access) {
        match access {
            Access::Read => self.readers += 1,
            Access::Write => self.writing = true,
            Access::SingleContender => self.contending = true,
            Access::StoreQueued => self.lined_up += 1,
            Access::Holding | Access::Follower => self.staying += 1,
        }
    }

    pub(super) fn leave(&mut self, access: Access) {
        match access {
            Access::Read => self.readers -= 1,
            Access::Write => self.writing = false,
            Access::SingleContender => (self.contending, self.refused) = (false, false),
            Access::StoreQueued => self.lined_up -= 1,
            Access::Holding | Access::Follower => self.staying -= 1,
        }
    }

    pub(super) fn wait_queue(&mut self) -> &mut WaitQueue<T> {
        self.wait_queue.get_or_insert_default()
    }

    pub(super) fn queue(&self) -> impl ExactSizeIterator<Item = &Waiter<T>> {
        self.wait_queue.as_deref().map(|wait_queue| wait_queue.queue.iter()).unwrap_or_default()
    }

    pub(super) fn queued(&self) -> usize {
        self.queue().len()
    }

    /// Waiters in the queue that were not cancelled.
    pub(super) fn live_waiters(&self) -> usize {
        self.queue().filter(|waiter| !waiter.admit.is_closed()).count()
    }

    pub(super) fn close(&mut self) -> Option<VecDeque<Waiter<T>>> {
        self.wait_queue.as_deref_mut().map(|wait_queue| std::mem::take(&mut wait_queue.queue))
    }

    pub(super) fn push(&mut self, waiter: Waiter<T>) {
        self.wait_queue().queue.push_back(waiter);
    }

    /// Takes the next waiter that was not cancelled, if it `enters`.
    pub(super) fn next_in_queue(
        &mut self,
        enters: impl Fn(&Self, &Waiter<T>) -> bool,
    ) -> Option<Waiter<T>> {
        loop {
            let next = self.queue().next()?;
            let has_left = next.admit.is_closed();
            // Only the first live waiter is considered: one behind it that would fit, such as a
            // reader behind a writer, must not pass it.
            if !has_left && !enters(self, next) {
                return None;
            }
            let next = self.wait_queue.as_mut()?.queue.pop_front()?;
            if !has_left {
                return Some(next);
            }
        }
    }

    /// Removes cancelled waiters, which leave their places behind. The whole queue is searched only when
    /// it seems full.
    pub(super) fn prune_cancelled(&mut self, most_waiting: usize) {
        let waiting = self.waiting();
        let Some(WaitQueue { queue, .. }) = self.wait_queue.as_deref_mut() else { return };
        while queue.front().is_some_and(|waiter| waiter.admit.is_closed()) {
            queue.pop_front();
        }
        if waiting >= most_waiting {
            // Cancelled waiters behind a live one would otherwise fill the queue, and callers be refused
            // though few tasks wait.
            queue.retain(|waiter| !waiter.admit.is_closed());
        }
    }

    /// Whether an acquisition that does not wait may queue anyway, because every permit is only waiting
    /// for its release to be confirmed.
    pub(super) fn may_queue_without_wait(&self, access: Access) -> bool {
        let alike = |waiter: &Waiter<T>| {
            waiter.admit.is_closed() || access == Access::Read && waiter.access == Access::Read
        };
        self.all_leave() && self.queue().all(alike)
    }

    /// Whether a caller that writes is almost sure to wait in vain: two or more writers ahead wait for as
    /// long as it does, and have the lock one after the other before it, each for at least half of the
    /// shortest hold lately.
    ///
    /// A caller ahead whose wait ends earlier may leave its place, so it does not count. One whose wait
    /// ends a 32nd of a hold earlier does: it is as unlikely that the lock is released between the two ends,
    /// and of all the callers of one moment that would let in a single one.
    pub(super) fn is_in_vain(&self, wait: &Wait) -> bool {
        if wait.shortest_hold.is_none() {
            return false;
        }
        let writers = self.queue().filter(|ahead| ahead.access == Access::Write);
        let waits = writers.filter(|ahead| !ahead.admit.is_closed()).filter_map(|ahead| ahead.wait);
        let holds = waits.filter_map(|ahead| {
            let hold = ahead.shortest_hold?;
            (ahead.until + hold / 32 >= wait.until).then_some(hold / 2)
        });
        let (count, time) =
            holds.fold((0, Duration::ZERO), |(count, time), hold| (count + 1, time + hold));
        count > 1 && Instant::now() + time > wait.until
    }

    /// Places in the store's queue whose waiters have not given up.
    pub(super) fn in_line(&self) -> usize {
        self.lined_up.saturating_sub(self.releasing) as usize
    }

    /// Waiters here and at the store.
    pub(super) fn waiting(&self) -> usize {
        self.queued() + self.waiting_at_store as usize
    }

    /// The limit on waiters. Behind pending releases there is always room for one: the lock is
    /// about to be free.
    pub(super) fn most_waiting(&self, most: usize) -> usize {
        if self.all_leave() { most.max(1) } else { most }
    }

    fn all_leave(&self) -> bool {
        // A holder, or a contender without an answer, keeps the lock for a time that is not known.
        // A pending release ends with one answer of the store.
        self.releasing == self.count()
    }

    /// Starts a release and returns its number.
    pub(super) fn start_release(&mut self) -> u32 {
        self.releasing += 1;
        self.left_so_far = self.left_so_far.wrapping_add(1);
        self.left_so_far
    }

    /// The release with this number is confirmed, or was taken back.
    pub(super) fn finish_release(&mut self, number: u32) {
        self.releasing -= 1;
        let Some(WaitQueue { watchers, .. }) = self.wait_queue.as_deref_mut() else { return };
        watchers.retain_mut(|watcher| {
            // Numbers wrap: of two, the later one is less than half the range ahead.
            if watcher.last.wrapping_sub(number) < u32::MAX / 2 {
                watcher.remaining -= 1;
            }
            watcher.remaining > 0
        });
    }

    /// Resolves when the releases that are pending now are confirmed; `None` if there are none.
    /// Later releases do not count: otherwise the caller would wait forever on a busy key.
    pub(super) fn pending_releases(&mut self) -> Option<oneshot::Receiver<()>> {
        let (last, remaining) = (self.left_so_far, self.releasing);
        if remaining == 0 {
            return None;
        }
        let (gone, pending_releases) = oneshot::channel();
        let watchers = &mut self.wait_queue().watchers;
        if watchers.len() == watchers.capacity() {
            // Before the list grows: while the store is gone no release is confirmed, and callers that
            // time out would leave watchers behind without bound.
            watchers.retain(|watcher| !watcher.gone.is_closed());
        }
        watchers.push(ReleaseWatcher { last, remaining, gone });
        Some(pending_releases)
    }

    pub(super) fn count(&self) -> u32 {
        self.readers
            + u32::from(self.writing)
            + u32::from(self.contending)
            + self.lined_up
            + self.staying
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;

    #[test]
    fn waiters_for_leavers_are_forgotten_when_they_stop() {
        let mut state = KeyState::<()>::default();
        state.enter(Access::StoreQueued);
        let number = state.start_release();
        let mut waits = state.pending_releases().expect("one is leaving");
        for _ in 0..1_000 {
            drop(state.pending_releases());
        }
        assert!(state.wait_queue().watchers.len() < 100);
        assert_eq!(waits.try_recv(), Err(TryRecvError::Empty));
        state.finish_release(number);
        assert_eq!(waits.try_recv(), Err(TryRecvError::Closed));
    }
}
