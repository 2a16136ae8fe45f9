//! Redis has no memory left: rows 14 and 15.

use tokio::time::sleep;

use super::servers::{Injected, because, insist};
use crate::{
    deployment::{Admin, Deployment},
    schedule::Planned,
};

const POLICIES: [&str; 4] = ["allkeys-lru", "volatile-lru", "volatile-ttl", "allkeys-random"];

/// Writes a thousand of a kilobyte each, under names of the slot of the key that is handed over.
const FILL: &str =
    "for i = 1, 1000 do redis.call('SET', KEYS[1] .. i, string.rep('x', 1000), 'PX', 2000) end";

pub(super) async fn at_the_limit(deployment: &Deployment, planned: &Planned) -> Injected {
    let done = deployment.tell_all(&["CONFIG", "SET", "maxmemory", "1"]).await;
    sleep(planned.lasts).await;
    insist("the memory limit to go", || deployment.tell_all(&["CONFIG", "SET", "maxmemory", "0"]))
        .await;
    done.map_err(because)
}

pub(super) async fn evict(deployment: &Deployment, planned: &Planned) -> Injected {
    let policy = POLICIES[usize::try_from(planned.amount % 4).map_err(because)?];
    let done = fill(deployment, policy).await;
    sleep(planned.lasts).await;
    insist("evictions to end", || async {
        deployment.tell_all(&["CONFIG", "SET", "maxmemory", "0"]).await?;
        deployment.tell_all(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await
    })
    .await;
    done
}

async fn fill(deployment: &Deployment, policy: &str) -> Injected {
    for at in deployment.primaries().await {
        let admin = Admin::to(deployment.servers()[at]).await.map_err(because)?;
        let used = admin.info("memory", "used_memory").await.map_err(because)?;
        let used: u64 = used.and_then(|used| used.parse().ok()).unwrap_or_default();
        let most = (used + 300_000).to_string();
        admin.tell(&["CONFIG", "SET", "maxmemory-policy", policy]).await.map_err(because)?;
        admin.tell(&["CONFIG", "SET", "maxmemory", &most]).await.map_err(because)?;
        for tag in 0..64 {
            // In a cluster only some of these slots are this primary's.
            let name = format!("filler:{{{tag}}}:");
            let _moved = admin.tell(&["EVAL", FILL, "1", &name]).await;
        }
    }
    Ok(())
}
