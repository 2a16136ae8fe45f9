//! Waits for a condition, with a time limit.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// The usual limit of a wait: far longer than a busy machine needs, and short of "forever".
pub const LIMIT: Duration = Duration::from_secs(30);

const POLL: Duration = Duration::from_millis(5);

/// Returns as soon as `condition` returns true; checks it again every few milliseconds.
///
/// `what` completes the sentence "waited for ..." in the failure text. A single check that does not
/// finish counts against `limit` too.
#[track_caller]
pub fn eventually(
    what: &str,
    limit: Duration,
    mut condition: impl AsyncFnMut() -> bool,
) -> impl Future<Output = ()> {
    let caller = Location::caller();
    async move {
        let end = Instant::now() + limit;
        let mut checked = 0_u32;
        while let Ok(answer) = tokio::time::timeout_at(end, condition()).await {
            checked += 1;
            if answer {
                return;
            }
            if Instant::now() >= end {
                break;
            }
            sleep(POLL).await;
        }
        panic!("{caller}: waited {limit:?} for {what}, checked {checked} times");
    }
}

/// Returns the output of `future`, which must be ready within `limit`.
#[track_caller]
pub fn bounded<F: Future>(limit: Duration, future: F) -> impl Future<Output = F::Output> {
    let caller = Location::caller();
    async move {
        match timeout(limit, future).await {
            Ok(output) => output,
            Err(_) => panic!("{caller}: not ready after {limit:?}"),
        }
    }
}
