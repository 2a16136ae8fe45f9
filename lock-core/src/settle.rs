//! Brings the store down to what the guards hold: the one way by which anything is released.
//!
//! A dropped guard, a cancelled acquisition, a lost hold and a change of mode of unknown outcome all
//! end here. One task per client works the queue, many holds at a time over one connection, each
//! until the store has confirmed or the lease must have ended.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Notify;

use crate::{
    LostCause, Mode,
    backoff::Backoff,
    clock::Moment,
    error::Unavailable,
    hold::{Hold, HoldState},
    store::{ConvertCommand, Downgraded, Holds, ReleaseCommand, Released},
};

/// Releases asked for at once: enough to fill a connection, few enough to bound its memory. Those
/// that failed and are tried again later do not count, or a part of the store that is gone would keep
/// the others waiting.
const MOST_AT_ONCE: usize = 512;
const FIRST_RETRY: Duration = Duration::from_millis(10);
const SLOWEST_RETRY: Duration = Duration::from_millis(250);
/// How much longer than its lease a release is tried: a store that stood still may carry out late
/// what it was sent before.
const AFTERMATH: Duration = Duration::from_secs(60);

/// Holds of which the store may have more than the guards. Unbounded: nothing is ever lost here.
#[derive(Debug, Default)]
pub(crate) struct SettleQueue {
    holds: Mutex<VecDeque<Arc<Hold>>>,
    pushed: Notify,
    closed: AtomicBool,
    hurry: AtomicBool,
}

impl SettleQueue {
    pub(crate) fn push(&self, hold: Arc<Hold>) {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).push_back(hold);
        self.pushed.notify_one();
    }

    /// Lets the task end when it has nothing left to do.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.pushed.notify_one();
    }

    /// The client is shut down: nothing is tried for longer than its lease.
    pub(crate) fn hurry(&self) {
        self.hurry.store(true, Ordering::Release);
    }

    fn in_a_hurry(&self) -> bool {
        self.hurry.load(Ordering::Acquire)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn pop(&self) -> Option<Arc<Hold>> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// The releaser: one per client.
pub(crate) async fn work(queue: Arc<SettleQueue>) {
    // In order of arrival, those whose next try has come at the end.
    let mut line = VecDeque::new();
    let mut asking = FuturesUnordered::new();
    let mut resting = FuturesUnordered::new();
    loop {
        while let Some(hold) = queue.pop() {
            line.push_back(UnderWay::new(&queue, hold));
        }
        while asking.len() < MOST_AT_ONCE
            && let Some(under_way) = line.pop_front()
        {
            asking.push(settle(under_way));
        }
        if queue.is_closed() && asking.is_empty() && resting.is_empty() {
            return;
        }
        tokio::select! {
            () = queue.pushed.notified() => {}
            Some(failed) = asking.next() => resting.extend(failed.map(UnderWay::rest)),
            Some(rested) = resting.next() => line.push_back(rested),
        }
    }
}

/// Goes back into the queue when the task is dropped with its runtime.
struct UnderWay {
    queue: Arc<SettleQueue>,
    hold: Option<Arc<Hold>>,
    retry: Backoff,
}

impl UnderWay {
    fn new(queue: &Arc<SettleQueue>, hold: Arc<Hold>) -> Self {
        Self { queue: Arc::clone(queue), hold: Some(hold), retry: Backoff::new(FIRST_RETRY) }
    }

    async fn rest(mut self) -> Self {
        tokio::time::sleep(self.retry.next(SLOWEST_RETRY)).await;
        self
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(hold) = self.hold.take() {
            self.queue.push(hold);
        }
    }
}

/// Asks until nothing is left to ask; gives the hold back when the store does not answer.
async fn settle(mut under_way: UnderWay) -> Option<UnderWay> {
    let hold = under_way.hold.clone()?;
    while !hold.finish() {
        let sent;
        let done = {
            let _steps = hold.steps().await;
            let step = hold.state().next_step();
            sent = Moment::now();
            match step {
                Some(step) => step.take(&hold, sent).await,
                None => {
                    tokio::task::yield_now().await;
                    continue;
                }
            }
        };
        hold.announce();
        let Err(failure) = done else { continue };
        if failure.silent {
            hold.engine.open_breaker(&hold.key, sent);
        }
        let over = {
            let mut state = hold.state();
            state.last_failure = Some(Box::new(failure));
            state.give_up(Moment::now(), under_way.queue.in_a_hurry())
        };
        hold.announce();
        if !over {
            return Some(under_way);
        }
    }
    hold.announce();
    under_way.hold = None;
    None
}

/// One thing to ask of the store so that it has no more than is wanted.
enum Step {
    TakeBack(Holds),
    Release { mode: Mode, holds: u32, in_line: bool },
}

impl HoldState {
    fn next_step(&mut self) -> Option<Step> {
        let wanted = self.wanted();
        if self.mode_in_doubt {
            if wanted.read > 0 {
                return Some(Step::TakeBack(wanted));
            }
            // Without a read to go back to, releasing what may be there says everything.
            self.mode_in_doubt = false;
        }
        // Reads first: a write released over a read would be a downgrade and wake everybody.
        for mode in [Mode::Read, Mode::Write] {
            let in_line = self.in_line == Some(mode) && self.guards.none();
            if self.stored.of(mode) > wanted.of(mode) || in_line {
                return Some(Step::Release { mode, holds: wanted.of(mode), in_line });
            }
        }
        None
    }

    /// Whether nothing can be left in the store; then it is written off.
    fn give_up(&mut self, now: Moment, hurry: bool) -> bool {
        let end = if hurry { self.stored_until } else { self.stored_until.after(AFTERMATH) };
        if !self.wanted().none() || now < end {
            return false;
        }
        self.has(Holds::default());
        self.in_line = None;
        true
    }
}

impl Step {
    async fn take(self, hold: &Arc<Hold>, sent: Moment) -> Result<(), Unavailable> {
        let gone = match self {
            Step::TakeBack(after) => Self::take_back(hold, sent, after).await?,
            Step::Release { mode, holds, in_line } => {
                Self::release(hold, sent, mode, holds, in_line).await?
            }
        };
        if gone {
            hold.state().was_gone = true;
            hold.lose(LostCause::Refused);
        }
        Ok(())
    }

    async fn take_back(hold: &Arc<Hold>, sent: Moment, after: Holds) -> Result<bool, Unavailable> {
        let lease = hold.state().terms.lease;
        let step = ConvertCommand { holder: hold.holder(), after, lease };
        let answer = hold.engine.store.downgrade(step).await?;
        if answer == Downgraded::Lost {
            hold.state().has(after);
            return Ok(true);
        }
        hold.downgraded(after, sent);
        Ok(false)
    }

    /// Says whether a hold that was certainly there has gone by itself.
    async fn release(
        hold: &Arc<Hold>,
        sent: Moment,
        mode: Mode,
        holds: u32,
        in_line: bool,
    ) -> Result<bool, Unavailable> {
        let certain = {
            let mut state = hold.state();
            // Asked twice, a release finds nothing the second time.
            let confirmed = state.confirmed.of_mut(mode);
            std::mem::replace(confirmed, (*confirmed).min(holds)) > holds || holds > 0
        };
        let step = ReleaseCommand { holder: hold.holder(), mode, holds, in_line };
        let answer = hold.engine.store.release(step).await?;
        let mut state = hold.state();
        *state.stored.of_mut(mode) = holds;
        if in_line {
            state.in_line = None;
        }
        if mode == Mode::Write && holds == 0 && !state.wanted().none() {
            let believed = hold.engine.believed_lease(state.terms.lease, state.stored);
            state.reads_only(sent, believed);
            drop(state);
            // Nothing was renewed by this, and renewal may have been kept waiting.
            hold.engine.schedule.add_at(hold, Moment::now());
        }
        Ok(answer == Released::Gone && certain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockClient;

    #[tokio::test(start_paused = true)]
    async fn a_hold_is_written_off_when_its_time_is_over_and_in_no_hurry_a_while_after_that() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let mut state = guard.hold().state();
        let end = state.stored_until;
        assert!(!state.give_up(end.after(AFTERMATH), false), "it is wanted");
        state.lost = Some(LostCause::Expired);
        let just_before = |end: Moment| Moment::now().after(Moment::now().until(end) - FIRST_RETRY);
        assert!(!state.give_up(just_before(end), true));
        assert!(!state.give_up(just_before(end.after(AFTERMATH)), false));
        assert_eq!(state.stored.write, 1);
        assert!(state.give_up(end, true));
        assert!(state.stored.none());
        assert!(state.give_up(end.after(AFTERMATH), false));
    }
}
