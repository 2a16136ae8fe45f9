//! The counters of fencing tokens are lost or set back, and connections end again and again: rows 47 to
//! 49.

use std::time::Duration;

use lock_tests::RedisServer;
use tokio::time::{Instant, sleep};

use super::servers::{Injected, because};
use crate::{
    deployment::{Admin, Deployment},
    schedule::Planned,
};

/// Not more often: a client whose connections end all the time makes no progress.
const EVERY: Duration = Duration::from_secs(1);
/// All counters of a server: one, or one for each slot that was used.
const COUNTERS: &str = "lock_token:*";
/// A cluster has one for each slot that was used, thousands after row 31. Each that is set back ends all
/// connections of its node.
const SET_BACK: usize = 8;
/// So far back that every token was granted since.
const LONG_AGO: &str = "1000";

pub(super) async fn inject(deployment: &Deployment, planned: &Planned) -> Injected {
    match planned.row {
        47 => end_connections(deployment, planned).await,
        48 => lose_counters(deployment).await,
        _ => set_counters_back(deployment).await,
    }
}

/// All connections of clients, those for messages too, once a second.
async fn end_connections(deployment: &Deployment, planned: &Planned) -> Injected {
    let end = Instant::now() + planned.lasts;
    loop {
        for server in deployment.servers() {
            let admin = Admin::to(server).await.map_err(because)?;
            for sort in ["normal", "pubsub"] {
                admin.tell(&["CLIENT", "KILL", "TYPE", sort]).await.map_err(because)?;
            }
        }
        if Instant::now() >= end {
            return Ok(());
        }
        sleep(EVERY).await;
    }
}

/// An operator deletes them while clients count on them.
async fn lose_counters(deployment: &Deployment) -> Injected {
    let mut lost = 0;
    for at in deployment.primaries().await {
        let server = deployment.servers()[at];
        for counter in counters(server).await? {
            let admin = Admin::to(server).await.map_err(because)?;
            lost += admin.ask::<u64>(&["DEL", &counter]).await.map_err(because)?;
        }
    }
    if lost == 0 { Err("there was no counter".to_owned()) } else { Ok(()) }
}

/// As behind a failover to a server that is far behind: the counters are old, and no connection of
/// before is left.
async fn set_counters_back(deployment: &Deployment) -> Injected {
    let mut found = false;
    for at in deployment.primaries().await {
        let server = deployment.servers()[at];
        let names = counters(server).await?;
        found |= !names.is_empty();
        for name in names.iter().take(SET_BACK) {
            // In one step: a connection of before knows that its counter was higher. One transaction for
            // each counter, because a cluster refuses several slots in one.
            let admin = Admin::to(server).await.map_err(because)?;
            admin.tell(&["MULTI"]).await.map_err(because)?;
            admin.tell(&["SET", name, LONG_AGO]).await.map_err(because)?;
            for sort in ["normal", "pubsub"] {
                admin.tell(&["CLIENT", "KILL", "TYPE", sort]).await.map_err(because)?;
            }
            admin.tell(&["EXEC"]).await.map_err(because)?;
        }
    }
    if found { Ok(()) } else { Err("there was no counter".to_owned()) }
}

async fn counters(server: &RedisServer) -> Result<Vec<String>, String> {
    let admin = Admin::to(server).await.map_err(because)?;
    admin.ask(&["KEYS", COUNTERS]).await.map_err(because)
}
