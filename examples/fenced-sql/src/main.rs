//! Fencing: a database that refuses late writes of a lock's previous holder.
//!
//! A lock in Redis is a lease. A holder that is stopped for longer than its lease, or that loses it in
//! a failover, may rely on it for another moment. The fencing token closes that gap: it grows with
//! every grant, and the database accepts writes only with the latest token.
//!
//! The database is SQLite, or where `DATABASE_URL` points: `postgres://user@localhost/database`.
//! There the program creates a table `fenced_accounts`.

use std::env;

use fenced_sql::{Accounts, Claim};
use lock_tower::{LockClient, LockGuard, MemoryStore, fence::Claimed};

const ADA: i64 = 7;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = env::var("DATABASE_URL").unwrap_or_else(|_| "sqlite::memory:".to_owned());
    let accounts = Accounts::open(&url).await?;
    accounts.create_table().await?;
    accounts.create(ADA, 100).await?;
    println!("the account has 100");

    // Two processes, each with its own client.
    let store = MemoryStore::new();
    let here = LockClient::builder().in_memory_on(&store);
    let there = LockClient::builder().in_memory_on(&store);

    let first = here.write("account:7").acquire().await?;
    // The effect of a failover or a deleted key. The holder will learn of it, but not at once.
    store.remove(first.key());
    let second = there.write("account:7").acquire().await?;
    println!("both hold the lock, with the tokens");
    println!("  first  {}\n  second {}", first.fencing_token(), second.fencing_token());

    let early = claim(&accounts, "first", &first).await?;
    let late = claim(&accounts, "second", &second).await?;
    withdraw(&accounts, "first", early, 30).await?;
    withdraw(&accounts, "second", late, 50).await?;
    claim(&accounts, "first", &first).await?;
    println!("the account has {}", accounts.balance(ADA).await?);
    Ok(())
}

/// The first statement of the work claims the row that it reads.
async fn claim(
    accounts: &Accounts,
    holder: &str,
    lock: &LockGuard,
) -> Result<Option<Claim>, sqlx::Error> {
    let claim = accounts.claim(ADA, lock.fencing_token()).await?;
    match &claim {
        Some(claim) => println!("{holder} claims the account and reads {}", claim.balance()),
        None => println!("{holder} may not even claim it: a later holder has"),
    }
    Ok(claim)
}

async fn withdraw(
    accounts: &Accounts,
    holder: &str,
    claim: Option<Claim>,
    amount: i64,
) -> Result<(), sqlx::Error> {
    let Some(claim) = claim else { return Ok(()) };
    let balance = claim.balance() - amount;
    match accounts.write(&claim, balance).await? {
        Claimed::Ours => println!("{holder} writes {balance}"),
        Claimed::Stale => println!("{holder} writes {balance}: refused"),
    }
    Ok(())
}
