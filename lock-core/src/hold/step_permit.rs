//! The right to send the store a lease's next step: one at a time.

use std::sync::Arc;

use super::{Lease, LeaseInner};

/// The right to a lease's next step, until this is dropped.
#[derive(Debug)]
pub(crate) struct StepPermit(Arc<Lease>);

impl StepPermit {
    pub(super) fn lease(&self) -> &Arc<Lease> {
        &self.0
    }
}

impl Drop for StepPermit {
    fn drop(&mut self) {
        self.0.state().stepping = false;
        // All waiters are notified: if one alone were, and its future was not polled, the others would
        // wait although the right is free.
        self.0.announce();
    }
}

impl Lease {
    /// The right to send the lease's next step: those of one lease are never on their way at the
    /// same time, or the answer to an earlier one could be taken for that of a later one.
    pub(crate) async fn step(self: &Arc<Self>) -> StepPermit {
        self.until(LeaseInner::begin_step).await;
        StepPermit(Arc::clone(self))
    }

    /// The same, unless another step is under way.
    pub(crate) fn try_step(self: &Arc<Self>) -> Option<StepPermit> {
        self.state().begin_step()?;
        Some(StepPermit(Arc::clone(self)))
    }
}

impl LeaseInner {
    fn begin_step(&mut self) -> Option<()> {
        (!std::mem::replace(&mut self.stepping, true)).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use crate::client::LockClient;

    #[tokio::test]
    async fn steps_are_taken_one_at_a_time_and_none_is_forgotten() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let lease = &guard.hold().lease;
        let first = lease.try_step().expect("no other has it");
        assert!(lease.try_step().is_none());
        let (mut gives_up, mut waits, mut last) =
            (Box::pin(lease.step()), Box::pin(lease.step()), Box::pin(lease.step()));
        for waiter in [&mut gives_up, &mut waits, &mut last] {
            assert!(waiter.now_or_never().is_none());
        }
        drop(first);
        // It was notified, and leaves before it is polled.
        drop(gives_up);
        let second = (&mut waits).now_or_never().expect("it is next");
        assert!((&mut last).now_or_never().is_none());
        drop(second);
        assert!(last.now_or_never().is_some());
        assert!(lease.try_step().is_some());
    }

    #[tokio::test]
    async fn steps_wait_for_no_waiter_that_is_not_polled() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let lease = &guard.hold().lease;
        let first = lease.try_step().expect("no other has it");
        let (mut idle, mut waits) = (Box::pin(lease.step()), Box::pin(lease.step()));
        for waiter in [&mut idle, &mut waits] {
            assert!(waiter.now_or_never().is_none());
        }
        drop(first);
        assert!(waits.now_or_never().is_some());
        drop(idle);
    }
}
