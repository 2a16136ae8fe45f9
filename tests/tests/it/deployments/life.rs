//! What a lock goes through, wherever it lives.

use std::time::Duration;

use lock_core::{AcquireError, LeaseState, LockClient, LostCause};
use lock_tests::{LIMIT, bounded, eventually, unless_stalled};

use crate::deployments::LONG;

const LEASE: Duration = Duration::from_secs(1);

/// Acquires, contends, renews, changes mode, releases and loses, between two clients of one store.
/// `delete` removes a key behind their backs.
pub(crate) async fn lives(here: LockClient, there: LockClient, delete: impl AsyncFn(&str)) {
    unless_stalled(async || {
        // Several keys, which a cluster spreads.
        for key in ["a", "b", "c", "order:42"] {
            let mut guard = here.write(key).lease(LEASE).max_hold(LONG).acquire().await.unwrap();
            let busy = there.read(key).try_acquire().await.unwrap_err();
            assert!(matches!(busy, AcquireError::Busy(_)), "{busy}");
            let waiter = tokio::spawn(there.read(key).wait(LONG).acquire());
            eventually("renewed", LIMIT, async || guard.state() == LeaseState::Renewed).await;
            guard.downgrade().await.unwrap();
            let reader = bounded(LIMIT, waiter).await.unwrap().unwrap();
            guard.release().await.unwrap();
            reader.release().await.unwrap();
            drop(there.write(key).wait(LONG).acquire().await.unwrap());
        }
        let guard = here.write("lost").lease(LEASE).acquire().await.unwrap();
        delete("lock:lost").await;
        assert_eq!(bounded(LIMIT, guard.lost()).await.cause(), LostCause::Refused);
    })
    .await;
    assert!(here.health().await.is_ready());
    assert_eq!(here.health().await.warnings, [""; 0]);
    here.shutdown(LIMIT).await.unwrap();
    there.shutdown(LIMIT).await.unwrap();
}
