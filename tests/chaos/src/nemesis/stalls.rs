//! Redis is there and does not answer: rows 9, 18 and 19.

use std::time::Duration;

use tokio::time::sleep;

use super::servers::{Injected, because, healed};
use crate::{
    deployment::{Admin, Deployment},
    schedule::Planned,
};

/// One of the primaries.
pub(super) async fn some_primary(
    deployment: &Deployment,
    planned: &Planned,
) -> Result<usize, String> {
    let primaries = deployment.primaries().await;
    let count = u64::try_from(primaries.len()).unwrap_or(u64::MAX);
    let at = planned.amount.checked_rem(count).ok_or("there is no primary")?;
    Ok(primaries[usize::try_from(at).map_err(because)?])
}

pub(super) async fn stop_a_server(deployment: &Deployment, planned: &Planned) -> Injected {
    let server = deployment.servers()[some_primary(deployment, planned).await?];
    server.pause();
    sleep(planned.lasts).await;
    server.resume();
    Ok(())
}

pub(super) async fn run_an_endless_script(deployment: &Deployment, planned: &Planned) -> Injected {
    let server = deployment.servers()[some_primary(deployment, planned).await?];
    let admin = Admin::to(server).await.map_err(because)?;
    admin.tell(&["CONFIG", "SET", "busy-reply-threshold", "20"]).await.map_err(because)?;
    let endless = tokio::spawn(async move {
        let _killed = admin.tell(&["EVAL", "while true do end", "0"]).await;
    });
    sleep(planned.lasts).await;
    healed("the script to be killed", async || {
        let Ok(admin) = Admin::to(server).await else { return false };
        let _done = admin.tell(&["SCRIPT", "KILL"]).await;
        sleep(Duration::from_millis(5)).await;
        endless.is_finished()
    })
    .await;
    let admin = Admin::to(server).await.map_err(because)?;
    admin.tell(&["CONFIG", "SET", "busy-reply-threshold", "5000"]).await.map_err(because)
}

pub(super) async fn pause_clients(deployment: &Deployment, planned: &Planned) -> Injected {
    let server = deployment.servers()[some_primary(deployment, planned).await?];
    let admin = Admin::to(server).await.map_err(because)?;
    let time = planned.lasts.as_millis().to_string();
    let which = if planned.amount & 0x100 == 0 { "WRITE" } else { "ALL" };
    admin.tell(&["CLIENT", "PAUSE", &time, which]).await.map_err(because)?;
    sleep(planned.lasts).await;
    Ok(())
}
