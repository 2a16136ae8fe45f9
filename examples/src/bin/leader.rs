//! A reconciler that every replica has and one runs, until it dies or is stopped.
//!
//! Without arguments three replicas run in this process, and the leader is stopped twice. With `REDIS_URL`
//! it is one replica; start it in several terminals, and stop or kill the one that leads:
//!
//! ```text
//! REDIS_URL=redis://127.0.0.1/ cargo run -p examples --bin leader
//! ```

use std::{env, time::Duration};

use lock_tower::{AcquireError, FencingToken, LockClient, MemoryStore, shutdown_signal};
use tokio::{task::JoinHandle, time::sleep};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if let Ok(url) = env::var("REDIS_URL") {
        // A replica that is killed is followed after the lease, at the latest.
        let locks = LockClient::builder().lease(Duration::from_secs(5)).connect(&url).await?;
        let replica = replica(&locks, "this replica");
        shutdown_signal().await;
        return stop(&locks, replica).await;
    }
    let store = MemoryStore::new();
    let replicas = ["one", "two", "three"].map(|name| {
        let locks = LockClient::builder().in_memory_on(&store);
        let replica = replica(&locks, name);
        (locks, replica)
    });
    for (locks, replica) in replicas {
        sleep(Duration::from_millis(100)).await;
        stop(&locks, replica).await?;
    }
    Ok(())
}

/// Starts the work of one replica, which never ends by itself.
fn replica(locks: &LockClient, name: &'static str) -> JoinHandle<Result<(), AcquireError>> {
    let leader = locks.leader("reconciler").name("reconciler");
    tokio::spawn(leader.run(async move |term| {
        println!("{name}: leads");
        loop {
            reconcile(term.fencing_token()).await;
            sleep(Duration::from_millis(20)).await;
        }
    }))
}

/// Lets the next replica lead at once.
async fn stop(
    locks: &LockClient,
    replica: JoinHandle<Result<(), AcquireError>>,
) -> anyhow::Result<()> {
    locks.shutdown(Duration::from_secs(5)).await?;
    if let Err(why) = replica.await? {
        println!("resigned: {why}");
    }
    Ok(())
}

/// Compares the world with its target, and changes it. Every resource that it writes to refuses smaller
/// tokens: a leader that was stopped does not know yet that another one leads.
async fn reconcile(term: FencingToken) {
    let _ = term;
}
