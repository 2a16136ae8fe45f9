//! The right to ask the store for a hold's next step: one at a time.

use std::sync::Arc;

use tokio::sync::Notify;

use super::{Hold, HoldState};

/// The right to a hold's next step, until this is dropped.
#[derive(Debug)]
pub(crate) struct Steps(Arc<Hold>);

impl Steps {
    pub(crate) fn of(&self) -> &Arc<Hold> {
        &self.0
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.state().ends_step();
    }
}

impl Hold {
    /// The right to ask for the hold's next step: those of one hold are never asked at the same time.
    pub(crate) async fn steps(self: &Arc<Self>) -> Steps {
        loop {
            let Err(ended) = self.state().begins_step() else { return Steps(Arc::clone(self)) };
            // It hears of what ends from here on, and may have ended before.
            let told = ended.notified();
            if let Some(steps) = self.try_steps() {
                return steps;
            }
            told.await;
        }
    }

    /// The same, unless another step is under way.
    pub(crate) fn try_steps(self: &Arc<Self>) -> Option<Steps> {
        self.state().begins_step().ok()?;
        Some(Steps(Arc::clone(self)))
    }
}

impl HoldState {
    /// Takes the right to its next step, or says who tells when it is given back.
    fn begins_step(&mut self) -> Result<(), Arc<Notify>> {
        if self.stepping {
            return Err(Arc::clone(self.step_ended.get_or_insert_default()));
        }
        self.stepping = true;
        Ok(())
    }

    fn ends_step(&mut self) {
        self.stepping = false;
        if let Some(ended) = &self.step_ended {
            // All of them: one alone might not look for long.
            ended.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use crate::LockClient;

    #[tokio::test]
    async fn steps_are_taken_one_at_a_time_and_none_is_forgotten() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let hold = guard.hold();
        let first = hold.try_steps().expect("nobody has them");
        assert!(hold.try_steps().is_none());
        let (mut gives_up, mut waits, mut last) =
            (Box::pin(hold.steps()), Box::pin(hold.steps()), Box::pin(hold.steps()));
        for waiter in [&mut gives_up, &mut waits, &mut last] {
            assert!(waiter.now_or_never().is_none());
        }
        drop(first);
        // It was told, and leaves before it has heard.
        drop(gives_up);
        let second = (&mut waits).now_or_never().expect("it is next");
        assert!((&mut last).now_or_never().is_none());
        drop(second);
        assert!(last.now_or_never().is_some());
        assert!(hold.try_steps().is_some());
    }

    #[tokio::test]
    async fn steps_wait_for_nobody_who_does_not_look() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let hold = guard.hold();
        let first = hold.try_steps().expect("nobody has them");
        let (mut idle, mut waits) = (Box::pin(hold.steps()), Box::pin(hold.steps()));
        for waiter in [&mut idle, &mut waits] {
            assert!(waiter.now_or_never().is_none());
        }
        drop(first);
        assert!(waits.now_or_never().is_some());
        drop(idle);
    }
}
