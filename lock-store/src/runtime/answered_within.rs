//! A time limit that does not count the time in which this process was paused.

use std::{pin::pin, time::Duration};

use tokio::time::{Instant, timeout};

/// Waits for an answer for `limit`; `None` if there is none.
///
/// A timer that fires late shows that the whole process was paused, and not that no answer came:
/// the answer may have arrived, and not be read yet. Then it gets the same time once more.
/// Otherwise every command that was under way in a pause would count as unanswered when the process
/// continues.
pub async fn answered_within<T>(limit: Duration, answer: impl Future<Output = T>) -> Option<T> {
    let (mut answer, begun) = (pin!(answer), Instant::now());
    if let Ok(answer) = timeout(limit, &mut answer).await {
        return Some(answer);
    }
    let is_late = begun.elapsed() >= limit + limit / 4;
    if is_late { timeout(limit, answer).await.ok() } else { None }
}

#[cfg(test)]
mod tests {
    use tokio::{sync::oneshot, time::sleep};

    use super::*;

    const LIMIT: Duration = Duration::from_millis(100);

    #[tokio::test(start_paused = true)]
    async fn without_a_pause_the_limit_is_the_limit() {
        let begun = Instant::now();
        assert_eq!(answered_within(LIMIT, std::future::pending::<()>()).await, None);
        assert!(begun.elapsed() < LIMIT * 2, "{:?}", begun.elapsed());
        assert_eq!(answered_within(LIMIT, sleep(LIMIT / 2)).await, Some(()));
    }

    #[tokio::test]
    async fn what_arrived_in_a_pause_is_read_after_it() {
        let (sender, answer) = oneshot::channel();
        let waiting = tokio::spawn(answered_within(LIMIT, answer));
        // The caller waits; then the runtime's only thread is blocked.
        tokio::task::yield_now().await;
        std::thread::sleep(LIMIT * 3);
        let reader = tokio::spawn(async move {
            // The task that reads the socket runs after the timer of the other.
            sleep(LIMIT / 10).await;
            sender.send("answer").expect("it still waits");
        });
        assert_eq!(waiting.await.expect("no panic"), Some(Ok("answer")));
        reader.await.expect("no panic");
    }
}
