//! Re-entries that fail without harm to the hold: on the in-memory store under a paused clock.

use std::{sync::Arc, time::Duration};

use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_core::{AcquireError, Kind, LockClient, MemoryStore, Mode};
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn a_wrong_kind_or_reentry_is_refused_and_the_hold_kept() {
    let client = LockClient::in_memory();
    let scope = client.scope();
    let ask = |kind| scope.lock(Mode::Write, "k").kind(kind).acquire();
    let guard = ask(Kind::NonReentrant).await.unwrap();
    let refused = ask(Kind::NonReentrant).await.unwrap_err();
    assert!(matches!(refused, AcquireError::AlreadyHeld { .. }), "{refused}");
    let refused = ask(Kind::Reentrant).await.unwrap_err();
    assert!(matches!(refused, AcquireError::WrongKind(_)), "{refused}");
    assert!(guard.is_held());
    guard.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_request_is_sent_while_an_earlier_release_is_unknown() {
    for mode in [Mode::Read, Mode::Write] {
        let store = MemoryStore::new();
        let client = LockClient::builder().in_memory_on(&store);
        let scope = client.scope();
        let again = || scope.lock(mode, "k").acquire();
        let outer = again().await.unwrap();
        let inner = again().await.unwrap();
        store.set_down(true);
        drop(inner);
        sleep(Duration::from_millis(1)).await;
        let refused = again().await.unwrap_err();
        assert!(refused.to_string().contains("not confirmed yet"), "{refused}");
        store.set_down(false);
        sleep(Duration::from_secs(1)).await;
        drop(again().await.unwrap());
        assert!(outer.is_held());
    }
}

/// A re-entry of unknown outcome is reconciled first; the one that waits for that then enters.
#[tokio::test(start_paused = true)]
async fn it_waits_until_an_earlier_one_is_known() {
    let (store, link) = (MemoryStore::new(), Arc::<ConstantFaults>::default());
    let client = faulty(LockClient::builder(), &store, Arc::clone(&link) as _);
    let scope = client.scope();
    let again = || scope.write("k").acquire();
    let outer = again().await.unwrap();
    let late = Duration::from_millis(20);
    // An answer that is an error, though not silence: the breaker stays closed.
    link.set(Delivery { taken: None, answered: Some(late) });
    let unknown = again().await.unwrap_err();
    assert!(matches!(unknown, AcquireError::Unavailable(_)), "{unknown}");
    link.set(Delivery::after(late));
    let inner = tokio::time::timeout(Duration::from_secs(5), again()).await.expect("an answer");
    drop(inner.unwrap());
    assert!(outer.is_held());
}
