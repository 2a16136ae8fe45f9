//! Unit tests of a service that takes locks: see the tests of this file.
//!
//! They need the feature `testing` of lock-tower, and `test-util` of Tokio for `start_paused`: with it a wait
//! of a minute takes no time. Both belong to the `[dev-dependencies]`:
//!
//! ```toml
//! lock-tower = { version = "0.1", features = ["testing"] }
//! tokio = { version = "1", features = ["macros", "rt", "test-util"] }
//! ```

use std::time::Duration;

use lock_tower::{LockClient, LockError};

/// Rewrites the report, under its lock.
///
/// # Errors
///
/// The lock is busy for a minute, or was lost: the report is as it was.
pub async fn rewrite(
    locks: &LockClient,
    work: impl Future<Output = u32>,
) -> Result<u32, LockError> {
    locks.write("report").wait(Duration::from_secs(60)).run(work).await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use lock_tower::{AcquireError, testing::TestLocks};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_busy_lock_is_waited_for_and_reported() {
        let locks = TestLocks::new();
        let elsewhere = locks.hold("report").await;
        let busy = rewrite(&locks.client(), ready(7)).await.unwrap_err();
        assert!(matches!(busy, LockError::Acquire(AcquireError::Busy(_))), "{busy}");
        drop(elsewhere);
        assert_eq!(rewrite(&locks.client(), ready(7)).await.unwrap(), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_lock_cancels_the_work() {
        let locks = TestLocks::new();
        let client = locks.client();
        let lose = async {
            while locks.lose("report") == 0 {
                tokio::task::yield_now().await;
            }
        };
        let (rewritten, ()) = tokio::join!(rewrite(&client, pending()), lose);
        assert!(matches!(rewritten.unwrap_err(), LockError::Lost(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_down_is_reported() {
        let locks = TestLocks::new();
        locks.store_down();
        let down = rewrite(&locks.client(), ready(7)).await.unwrap_err();
        assert!(matches!(down, LockError::Acquire(AcquireError::Unavailable(_))), "{down}");
    }
}
