//! A holder that checks nothing except its claim, for the tests, which stop it for longer than its
//! lease.
//!
//! It takes the lock in the Redis at `$REDIS_URL`, claims account 7 in the database at
//! `$DATABASE_URL`, waits for a line on its standard input, and writes.

use std::{env, io, time::Duration};

use anyhow::Context;
use fenced_sql::Accounts;
use lock_tower::LockClient;

/// Short, so that the lease ends soon while the process is stopped.
const LEASE: Duration = Duration::from_secs(1);
const ACCOUNT: i64 = 7;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let locks = LockClient::builder().lease(LEASE).connect(&env::var("REDIS_URL")?).await?;
    let accounts = Accounts::open(&env::var("DATABASE_URL")?).await?;

    let lock = locks.write("account:7").acquire().await?;
    let claim = accounts.claim(ACCOUNT, lock.fencing_token()).await?;
    let claim = claim.context("a later holder has already claimed the account")?;
    println!("claimed, reads {}", claim.balance());

    tokio::task::spawn_blocking(|| io::stdin().read_line(&mut String::new())).await??;
    for balance in [claim.balance() - 30, claim.balance() - 60] {
        println!("writes {balance}: {:?}", accounts.write(&claim, balance).await?);
    }
    let again = accounts.claim(ACCOUNT, lock.fencing_token()).await?;
    println!("claims again: {}", if again.is_some() { "Ours" } else { "Stale" });
    Ok(())
}
