//! A primary goes or steps down, or refuses to write: rows 12, 16 and 17.

use std::time::Duration;

use tokio::time::sleep;

use super::{
    servers::{Injected, because, healed, insist},
    slots,
    stalls::some_primary,
};
use crate::{
    deployment::{Admin, Deployment},
    schedule::Planned,
};

/// An address where no server listens.
const NO_SERVER: [&str; 3] = ["REPLICAOF", "127.0.0.1", "1"];

/// A failover that they carry out is over within this.
const PATIENCE_OF_SENTINELS: Duration = Duration::from_secs(6);

/// Replaced by a replica, which was cut off before in the deployment with Sentinels.
pub(super) async fn kill_a_primary(deployment: &mut Deployment, planned: &Planned) -> Injected {
    let at = some_primary(deployment, planned).await?;
    if matches!(deployment, Deployment::Sentinel(_)) {
        for (other, server) in deployment.servers().into_iter().enumerate() {
            if other != at {
                let admin = Admin::to(server).await.map_err(because)?;
                admin.tell(&NO_SERVER).await.map_err(because)?;
            }
        }
        // Grants from now on reach no replica.
        sleep(planned.lasts).await;
    }
    deployment.servers()[at].kill();
    replaced(deployment, at).await;
    deployment.server_mut(at).restart().await;
    insist("it to follow", || deployment.follow(at)).await;
    Ok(())
}

/// Stopped until it is replaced, it finds out afterwards.
pub(super) async fn stop_a_primary(deployment: &Deployment) -> Injected {
    let Some(at) = deployment.primaries().await.first().copied() else {
        return Err("there is no primary".to_owned());
    };
    deployment.servers()[at].pause();
    replaced(deployment, at).await;
    deployment.servers()[at].resume();
    insist("it to follow", || deployment.follow(at)).await;
    Ok(())
}

async fn replaced(deployment: &Deployment, at: usize) {
    let count = if matches!(deployment, Deployment::Cluster(_)) { 3 } else { 1 };
    healed("another to take its place", async || {
        let primaries = deployment.primaries().await;
        primaries.len() == count && !primaries.contains(&at)
    })
    .await;
}

/// A primary becomes a replica while it lives.
pub(super) async fn step_down(deployment: &Deployment, planned: &Planned) -> Injected {
    let at = some_primary(deployment, planned).await?;
    match deployment {
        Deployment::Standalone { server, .. } => {
            let admin = Admin::to(server).await.map_err(because)?;
            let done = admin.tell(&NO_SERVER).await;
            sleep(planned.lasts).await;
            insist("it to be a primary", || admin.tell(&["REPLICAOF", "NO", "ONE"])).await;
            done.map_err(because)
        }
        Deployment::Sentinel(setup) => {
            let admin = Admin::to(setup.sentinel(0)).await.map_err(because)?;
            let words = ["SENTINEL", "FAILOVER", lock_tests::SentinelSetup::NAME];
            // Refused when the last one is not long ago.
            admin.tell(&words).await.map_err(because)?;
            // Sentinels give it up when no replica has been in touch for long enough.
            tokio::select! {
                () = replaced(deployment, at) => Ok(()),
                never = ask_again(&admin, &words) => never,
            }
        }
        Deployment::ZooKeeper(_) => Err("an ensemble has no primary".to_owned()),
        Deployment::Cluster(cluster) => {
            let replica = slots::replica_of(cluster, at).await.ok_or("it has no replica")?;
            let admin = Admin::to(cluster.node(replica)).await.map_err(because)?;
            admin.tell(&["CLUSTER", "FAILOVER"]).await.map_err(because)?;
            replaced(deployment, at).await;
            Ok(())
        }
    }
}

async fn ask_again<T>(admin: &Admin, words: &[&str]) -> T {
    loop {
        sleep(PATIENCE_OF_SENTINELS).await;
        // Refused while one is under way.
        let _ = admin.tell(words).await;
    }
}

/// Too few replicas to write for. (A cluster is down for a while in row 12 too.)
pub(super) async fn refuse_writes(deployment: &Deployment, planned: &Planned) -> Injected {
    let set = async |count: &str| {
        let words = ["CONFIG", "SET", "min-replicas-to-write", count];
        deployment.tell_all(&words).await
    };
    let done = set("5").await;
    sleep(planned.lasts).await;
    insist("writes to be taken", || set("0")).await;
    done.map_err(because)
}
