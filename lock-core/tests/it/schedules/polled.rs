//! Polling a future so many times and no more.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

/// A future that is not ready after this time waits for an event that never happens, or repeats
/// itself.
const QUIET: Duration = Duration::from_secs(8);

/// The outcome of a future that was dropped after a number of polls, if it was not ready by then.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Polled<T> {
    Ready(T),
    Dropped,
    /// It requests no further poll: dropping it later is the same as dropping it here.
    Quiet,
}

impl<T> Polled<T> {
    /// Whether more polls would have shown nothing more.
    pub(crate) fn is_over(&self) -> bool {
        !matches!(self, Self::Dropped)
    }
}

/// Polls `work` when it requests that, at most `polls` times.
pub(crate) async fn polled<F: Future>(work: F, polls: usize) -> Polled<F::Output> {
    let mut work = pin!(work);
    let mut left = polls;
    let polling = poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(Polled::Dropped);
        }
        left -= 1;
        match work.as_mut().poll(context) {
            Poll::Ready(ready) => Poll::Ready(Polled::Ready(ready)),
            Poll::Pending if left == 0 => Poll::Ready(Polled::Dropped),
            Poll::Pending => Poll::Pending,
        }
    });
    tokio::time::timeout(QUIET, polling).await.unwrap_or(Polled::Quiet)
}

#[tokio::test(start_paused = true)]
async fn it_is_polled_so_often() {
    let third = || {
        let mut polls = 0;
        poll_fn(move |context| {
            polls += 1;
            context.waker().wake_by_ref();
            if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
        })
    };
    assert_eq!(polled(third(), 2).await, Polled::Dropped);
    assert_eq!(polled(third(), 3).await, Polled::Ready(()));
    assert_eq!(polled(std::future::pending::<()>(), 9).await, Polled::Quiet);
    assert_eq!(polled(async {}, 0).await, Polled::Dropped);
}
