//! Locks outside HTTP: in a job, a consumer of a queue, a command-line tool.

use std::time::Duration;

use lock_tower::{AcquireError, LockClient, LockError, distributed_lock};

#[tokio::main]
async fn main() -> Result<(), LockError> {
    let locks = LockClient::in_memory();
    run_under_a_lock(&locks).await?;
    a_guard(&locks).await?;
    readers_and_writers(&locks).await?;
    let pages = night_job(&locks, "2026-11").await?;
    println!("the night's job wrote {pages} pages");
    locks.scope().run(one_after_the_other(&locks)).await
}

/// The shortest form: the work is cancelled if the lock is lost, and the lock ends with the work.
async fn run_under_a_lock(locks: &LockClient) -> Result<(), LockError> {
    let lock = locks.write("ledger").wait(Duration::from_secs(2));
    let sum = lock.run(async { 1 + 1 }).await?;
    println!("the ledger was ours alone: {sum}");
    Ok(())
}

/// The long form, for a lock that does not end with a block of code.
async fn a_guard(locks: &LockClient) -> Result<(), LockError> {
    let guard = locks.write("ledger").acquire().await?;
    println!("token {} for {:?}", guard.fencing_token(), guard.remaining());
    // Dropping it releases too, in the background. This waits until the release is confirmed.
    match guard.release().await {
        Ok(()) => println!("released"),
        Err(error) => println!("the end of the work was not protected: {error}"),
    }
    Ok(())
}

async fn readers_and_writers(locks: &LockClient) -> Result<(), LockError> {
    let one = locks.read("ledger").acquire().await?;
    let other = locks.read("ledger").acquire().await?;
    match locks.write("ledger").try_acquire().await {
        Err(AcquireError::Busy(busy)) => println!("two read, so none may write: {busy}"),
        Err(error) => return Err(error.into()),
        Ok(_guard) => println!("BUG: written while read"),
    }
    drop((one, other));
    Ok(())
}

/// The attribute, on any function that returns an error made from [`LockError`].
#[distributed_lock(key = "report:{month}", client = locks, lease = "10s")]
async fn night_job(locks: &LockClient, month: &str) -> Result<usize, LockError> {
    // A lock inside a lock, on another key: always take them in the same order.
    locks.read("ledger").run(async { month.len() }).await
}

/// Inside a scope a holder re-enters its lock, so a locked function may call another one.
async fn one_after_the_other(locks: &LockClient) -> Result<(), LockError> {
    let _guard = locks.write("report:2026-11").acquire().await?;
    let pages = night_job(locks, "2026-11").await?;
    println!("the same {pages} pages, under the caller's own lock");
    Ok(())
}
