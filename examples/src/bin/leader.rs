//! A reconciler that every replica has and one runs, until it dies or is stopped.
//!
//! Without arguments three replicas run in this process, and the leader is stopped twice. With `REDIS_URL`
//! it is one replica; start it in several terminals, and stop or kill the one that leads:
//!
//! ```text
//! REDIS_URL=redis://127.0.0.1/ cargo run -p examples --bin leader
//! ```

use std::{env, time::Duration};

use lock_tower::{FencingToken, LockClient, MemoryStore, shutdown_signal};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if let Ok(url) = env::var("REDIS_URL") {
        // A replica that is killed is followed after the lease, at the latest.
        let locks = LockClient::builder().lease(Duration::from_secs(5)).connect(&url).await?;
        let replica = tokio::spawn(replica(locks.clone(), "this replica"));
        shutdown_signal().await;
        locks.shutdown(Duration::from_secs(5)).await?;
        replica.await?;
        return Ok(());
    }
    let store = MemoryStore::new();
    let replicas = ["one", "two", "three"].map(|name| {
        let locks = LockClient::builder().in_memory_on(&store);
        (locks.clone(), tokio::spawn(replica(locks, name)))
    });
    for (locks, replica) in replicas {
        sleep(Duration::from_millis(100)).await;
        locks.shutdown(Duration::from_secs(5)).await?;
        replica.await?;
    }
    Ok(())
}

async fn replica(locks: LockClient, name: &str) {
    let leader = locks.leader("reconciler").name("reconciler");
    let ended = leader
        .run(async |term| {
            println!("{name}: leads");
            loop {
                reconcile(term.fencing_token()).await;
                sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    // Its work never ends by itself: the client shuts down, or this replica could never lead.
    let Err(why) = ended;
    println!("{name}: {why}");
}

/// Compares the world with its target, and changes it. Every resource that it writes to refuses smaller
/// tokens: a leader that was stopped does not know yet that another one leads.
async fn reconcile(term: FencingToken) {
    let _ = term;
}
