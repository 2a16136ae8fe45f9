//! A candidate for one leadership, for tests that kill or stop the leader.
//!
//! Connects to the Redis at `$REDIS_URL`, with a lease of `$LEASE_MS`. While it leads it adds an entry to the
//! stream `steps` every `$STEP_MS`: the number of its term and its process id. Prints `leads` and `leads no
//! more`, and resigns at SIGTERM.

use std::{env, error::Error, process, time::Duration};

use lock_tower::{LockClient, shutdown_signal};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("REDIS_URL")?;
    let millis =
        |name| -> Result<_, Box<dyn Error>> { Ok(Duration::from_millis(env::var(name)?.parse()?)) };
    let (lease, step) = (millis("LEASE_MS")?, millis("STEP_MS")?);
    let locks = LockClient::connect(&url).await?;
    let redis = redis::Client::open(url)?.get_multiplexed_async_connection().await?;

    let leader = locks.leader("reconciler").lease(lease);
    let mut terms = leader.watch();
    tokio::spawn(async move {
        while terms.changed().await.is_ok() {
            println!("{}", if terms.borrow().is_some() { "leads" } else { "leads no more" });
        }
    });
    let lead = leader.run(async move |term| -> Result<(), redis::RedisError> {
        let mut redis = redis.clone();
        let mut entry = redis::cmd("XADD");
        let number = term.fencing_token().to_string();
        entry.arg(&["steps", "*", "term", &number, "process", &process::id().to_string()]);
        loop {
            entry.query_async::<()>(&mut redis).await?;
            sleep(step).await;
        }
    });
    let lead = tokio::spawn(lead);
    shutdown_signal().await;
    locks.shutdown(Duration::from_secs(5)).await?;
    // Its error is that the client is shutting down.
    let _ = lead.await?;
    Ok(())
}
