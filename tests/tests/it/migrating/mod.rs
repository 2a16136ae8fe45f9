//! From another lock to ours, step by step, as `docs/migrating` describes it.

mod endings;
mod fleet;
mod guide;
mod losses;
mod names;
mod pairs;
mod quorum;
mod scene;
mod usage;

use lock_tests::migrating::OldKind;

/// Both old locks go the same way.
async fn with_each_old_lock(test: impl AsyncFn(OldKind)) {
    for kind in [OldKind::HandRolled, OldKind::Rslock] {
        println!("{kind:?}");
        test(kind).await;
    }
}
