//! A stuck lock: how to see its holder, and how to free it, by a request and by force.
//!
//! `cargo run -p examples --bin at_night`; with `REDIS_URL` it uses Redis instead of memory.

use std::{env, time::Duration};

use lock_tower::{LockClient, observe::Inspection};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let locks = match env::var("REDIS_URL") {
        Ok(url) => LockClient::builder().client_name("reports", "reports-1").connect(&url).await?,
        Err(_) => LockClient::in_memory(),
    };
    let guard = locks.write("report").acquire().await?;
    show(&locks.inspect("report").await?);

    // A holder that listens for release requests.
    let listening = tokio::spawn(async move {
        guard.release_requested().await;
        println!("the holder has the request, and releases");
        guard.release().await
    });
    println!("{} holder gets the request", locks.request_release("report").await?);
    listening.await??;

    // A holder that does not.
    let guard = locks.write("report").lease(Duration::from_secs(1)).acquire().await?;
    let forced = locks.force_release("report").await?;
    let (old, new) = (guard.fencing_token(), forced.fencing_token);
    println!("taken away; its token {old} is stale, since {new:?} was given out");
    println!("the holder is notified: {}", guard.lost().await);
    locks.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

fn show(seen: &Inspection) {
    println!("{:?}, held for {:?}:", seen.kind, seen.mode);
    for holder in &seen.holders {
        println!("  by {} {:?}, for {:?} more", holder.owner, holder.client, holder.remaining);
    }
}
