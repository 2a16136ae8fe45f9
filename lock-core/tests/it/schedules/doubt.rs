//! While it is not known whether a change of mode took place.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use lock_conformance::{CommandKind, Delivery, FaultPlan, faulty};
use lock_core::{LockClient, MemoryStore, Mode, UpgradeError};
use tokio::time::sleep;

use crate::schedules::two_clients::{COMMAND_TIMEOUT, LEASE, ms};

/// Changes of mode take place, but are not answered; taking them back fails as long as this is cut.
#[derive(Default)]
struct Cut(AtomicBool);

impl FaultPlan for Cut {
    fn delivery(&self, question: CommandKind) -> Delivery {
        match (question, self.0.load(Ordering::Relaxed)) {
            (CommandKind::Upgrade, true) => Delivery { taken: Some(ms(0)), answered: None },
            (CommandKind::Downgrade, true) => Delivery { taken: None, answered: Some(ms(1)) },
            _ => Delivery::AT_ONCE,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hold_is_renewed_in_neither_mode() {
    let (store, cut) = (MemoryStore::new(), Arc::<Cut>::default());
    let builder = || LockClient::builder().lease(LEASE).command_timeout(COMMAND_TIMEOUT);
    let here = faulty(builder(), &store, Arc::clone(&cut) as _);
    let there = builder().in_memory_on(&store);
    let mut guard = here.read("k").acquire().await.unwrap();
    cut.0.store(true, Ordering::Relaxed);
    let refused = guard.upgrade().await.unwrap_err();
    assert!(matches!(refused, UpgradeError::Unavailable(_)), "{refused}");
    sleep(LEASE / 2).await;
    // The store has a write, of which a renewal of the read would find nothing.
    assert!(guard.is_held() && there.is_locked("k", Mode::Write).await.unwrap());
    cut.0.store(false, Ordering::Relaxed);
    sleep(LEASE * 2).await;
    assert!(guard.is_held());
    drop(there.read("k").try_acquire().await.unwrap());
}
