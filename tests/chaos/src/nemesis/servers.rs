//! Which fault of the servers is which.

use std::{future::Future, time::Duration};

use lock_tests::Wire;
use tokio::time::{Instant, sleep};

use super::{
    Nemesis, accounts, batches, clock_jumps, counters, failover, memory, messages, restarts, slots,
    stalls, zookeeper,
};
use crate::{
    deployment::Deployment,
    keys::{Family, KEYS, PERMITS},
    schedule::Planned,
};

/// How long healing may take before the campaign gives up.
const PATIENCE: Duration = Duration::from_secs(45);

/// Why a fault could not be injected.
pub(super) type Injected = Result<(), String>;

pub(super) fn because(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Injects a fault, lets it last, and heals it. On return all is well again.
pub(super) async fn inject(
    nemesis: &Nemesis,
    deployment: &mut Deployment,
    planned: &Planned,
) -> Injected {
    let done = match (planned.row, planned.variant) {
        (9, _) => stalls::stop_a_server(deployment, planned).await,
        (10, _) => restarts::without_data(deployment).await,
        (11, _) => restarts::with_data(deployment).await,
        (12, 0) => failover::kill_a_primary(deployment, planned).await,
        (12, _) => failover::stop_a_primary(deployment).await,
        (13, _) => deployment.tell_all(&["SCRIPT", "FLUSH"]).await.map_err(because),
        (14, _) => memory::at_the_limit(deployment, planned).await,
        (15, _) => memory::evict(deployment, planned).await,
        (16, _) => failover::step_down(deployment, planned).await,
        (17, _) => failover::refuse_writes(deployment, planned).await,
        (18, _) => stalls::run_an_endless_script(deployment, planned).await,
        (19, _) => stalls::pause_clients(deployment, planned).await,
        (20, _) => slots::move_one(deployment, planned).await,
        (21, _) => accounts::forbid_a_command(deployment, planned).await,
        (22, _) => accounts::forbid_channels(deployment, planned).await,
        (23, _) => accounts::change_the_user(deployment, planned).await,
        (24 | 25, _) => clock_jumps::jump(nemesis, deployment, planned).await,
        (26, _) => messages::cut_subscribers(deployment).await,
        (27, _) => messages::cut_subscribers_again_and_again(deployment, planned).await,
        (37, _) => messages::put_something_else(deployment, planned).await,
        (38, _) => messages::flood(deployment, planned).await,
        (39..=46, _) => zookeeper::inject(deployment, planned).await,
        (47..=49, _) => counters::inject(deployment, planned).await,
        (53, _) => batches::fail_one_release(nemesis, deployment, planned).await,
        (row, _) => Err(format!("row {row} is not injected")),
    };
    let whole = format!("every server to be back after {planned}");
    healed(&whole, async || deployment.is_whole().await).await;
    // On Redisson's wire only Redis knows a semaphore's count.
    if nemesis.wire == Wire::Redisson && matches!(planned.row, 10 | 12 | 15 | 16 | 24 | 25) {
        let counted = format!("the semaphores to be counted anew after {planned}");
        repeat(&counted, async || set_permits(deployment, nemesis.wire).await).await;
    }
    done
}

/// Waits until something that must come true again has.
pub(super) async fn healed(what: &str, condition: impl AsyncFn() -> bool) {
    let not_yet = || "not yet".to_owned();
    repeat(what, async || condition().await.then_some(()).ok_or_else(not_yet)).await;
}

/// Does what must not fail in the end, again and again.
pub(super) async fn insist<F: Future<Output = redis::RedisResult<()>>>(
    what: &str,
    action: impl Fn() -> F,
) {
    repeat(what, async || action().await.map_err(because)).await;
}

async fn repeat(what: &str, action: impl AsyncFn() -> Result<(), String>) {
    let end = Instant::now() + PATIENCE;
    while let Err(why) = action().await {
        assert!(Instant::now() < end, "waited {PATIENCE:?} for {what}: {why}");
        sleep(Duration::from_millis(20)).await;
    }
}

async fn set_permits(deployment: &Deployment, wire: Wire) -> Result<(), String> {
    let locks = wire.builder().connect(&deployment.url(0)).await.map_err(because)?;
    for number in 0..KEYS {
        let semaphore = locks.semaphore(Family::Semaphore.key(number), PERMITS);
        semaphore.set_permits(PERMITS).await.map_err(because)?;
    }
    locks.shutdown(PATIENCE).await.map_err(because)
}
