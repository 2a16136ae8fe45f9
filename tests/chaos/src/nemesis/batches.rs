//! A batch of releases of which one fails: row 53.

use std::time::Duration;

use lock_core::{AcquireError, LockClient};

use super::{
    Nemesis,
    servers::{Injected, because},
};
use crate::{
    clock::now,
    deployment::{Admin, Deployment},
    schedule::Planned,
};

/// More than one batch's worth on each node of a cluster.
const HELD: u64 = 48;
/// Far below the lease of 30 s, which must not be what frees a lock.
const RELEASED_WITHIN: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(10);
/// For how many milliseconds what is not a lock stays, if this ends early.
const SPOILT_MS: &str = "8000";

/// Holds many locks, has something else stand under one of them, and releases all at once: every other
/// lock must be free, and what is not a lock must stay.
pub(super) async fn fail_one_release(
    nemesis: &Nemesis,
    deployment: &Deployment,
    planned: &Planned,
) -> Injected {
    let connect = async || nemesis.wire.builder().connect(&deployment.url(0)).await;
    let holder = connect().await.map_err(because)?;
    let other = connect().await.map_err(because)?;
    let done = released_but_one(nemesis, deployment, planned, &holder, &other).await;
    for client in [holder, other] {
        if let Err(left) = client.shutdown(PATIENCE).await {
            nemesis.record.wrong(now(), format!("a client that shut down left something: {left}"));
        }
    }
    done
}

async fn released_but_one(
    nemesis: &Nemesis,
    deployment: &Deployment,
    planned: &Planned,
    holder: &LockClient,
    other: &LockClient,
) -> Injected {
    let key = |number: u64| format!("batch:{number}");
    let mut held = Vec::new();
    for number in 0..HELD {
        held.push(holder.write(key(number)).acquire().await.map_err(because)?);
    }
    let spoilt = planned.amount % HELD;
    let name = format!("lock:{}", key(spoilt));
    replace(deployment, &["SET", &name, "something else", "PX", SPOILT_MS]).await?;
    drop(held);
    for number in (0..HELD).filter(|number| *number != spoilt) {
        match other.write(key(number)).wait(RELEASED_WITHIN).acquire().await {
            Ok(guard) => drop(guard),
            // The machine is too slow to answer: nothing is known of the others.
            Err(why @ AcquireError::Unavailable(_)) => return Err(because(why)),
            Err(why) => {
                let what =
                    format!("{} was not released beside one that failed: {why}", key(number));
                nemesis.record.wrong(now(), what);
            }
        }
    }
    match other.write(key(spoilt)).try_acquire().await {
        Err(AcquireError::WrongKind(_) | AcquireError::Unavailable(_)) => {}
        answer => {
            let what = format!("{name} is not a lock, and a request for it ended as {answer:?}");
            nemesis.record.wrong(now(), what);
        }
    }
    replace(deployment, &["DEL", &name]).await
}

/// Sends a command to the primary of its key: the others refuse it.
async fn replace(deployment: &Deployment, words: &[&str]) -> Injected {
    let mut refused = String::new();
    for at in deployment.primaries().await {
        let admin = Admin::to(deployment.servers()[at]).await.map_err(because)?;
        match admin.tell(words).await {
            Ok(()) => return Ok(()),
            Err(why) => refused = because(why),
        }
    }
    Err(refused)
}
