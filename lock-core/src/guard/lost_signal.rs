use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use lock_store::runtime::lease_clock;

use crate::{hold::Hold, types::Lost};

/// A future that resolves when a lock is lost, before the store can grant it to another owner.
///
/// It needs no network: the holder's own clock ends the lease. After a pause of the process it is
/// ready at the first poll. It never resolves once the lock was released, so race it against the
/// work and drop it with the work.
#[must_use = "it resolves when the lock is lost; race it against the work"]
pub struct LostSignal {
    hold: Weak<Hold>,
    loss: BoxFuture<'static, Lost>,
}

impl LostSignal {
    pub(crate) fn of(hold: &Arc<Hold>) -> Self {
        hold.lease.client.watch_for_taken();
        let mut changes = hold.changes();
        let key = hold.lease.key.clone();
        let hold = Arc::downgrade(hold);
        let weak = Weak::clone(&hold);
        let loss = Box::pin(async move {
            loop {
                let end = match hold.upgrade() {
                    Some(hold) if !hold.was_released() => match hold.check() {
                        Err(lost) => return lost,
                        Ok(()) => hold.valid_until(),
                    },
                    // A loss before the drop is still reported.
                    _ => {
                        let cause = *changes.borrow_and_update();
                        match cause {
                            Some(cause) => return Lost { key, cause },
                            None => std::future::pending().await,
                        }
                    }
                };
                tokio::select! {
                    _ = changes.changed() => {}
                    () = lease_clock::sleep_until(end) => {}
                }
            }
        });
        Self { hold: weak, loss }
    }
}

impl Future for LostSignal {
    type Output = Lost;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Lost> {
        // After a pause the clock is ahead of every timer.
        if let Some(hold) = self.hold.upgrade()
            && !hold.was_released()
            && let Err(lost) = hold.check()
        {
            return Poll::Ready(lost);
        }
        self.loss.as_mut().poll(context)
    }
}

impl fmt::Debug for LostSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LostSignal").finish_non_exhaustive()
    }
}
