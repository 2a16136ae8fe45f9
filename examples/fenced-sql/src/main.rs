//! Fencing: a database that refuses the hand of a lock's former holder.
//!
//! A lock in Redis is a lease. Who is stopped for longer than it, or has a failover take it away,
//! may still believe in it for a moment. The fencing token closes that gap: it grows with every
//! grant, and the database lets nobody write whose token is not the latest.

mod accounts;
#[cfg(test)]
mod tests;

use std::error::Error;

use lock_tower::{LockClient, LockGuard, MemoryStore};

use crate::accounts::{Accounts, Claim};

const ADA: i64 = 7;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let accounts = Accounts::open().await?;
    accounts.create(ADA, 100).await?;
    println!("the account has 100");

    // Two processes, each with a client of its own.
    let store = MemoryStore::new();
    let here = LockClient::builder().in_memory_on(&store);
    let there = LockClient::builder().in_memory_on(&store);

    let first = here.write("account:7").acquire().await?;
    // What a failover or a deleted key does. The holder will learn of it, but not at once.
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

/// The first statement of the work: it reads nothing that it has not made its own.
async fn claim(
    accounts: &Accounts,
    who: &str,
    lock: &LockGuard,
) -> Result<Option<Claim>, sqlx::Error> {
    let claim = accounts.claim(ADA, lock.fencing_token()).await?;
    match &claim {
        Some(claim) => println!("{who} claims the account and reads {}", claim.balance()),
        None => println!("{who} may not even claim it: a later holder has"),
    }
    Ok(claim)
}

async fn withdraw(
    accounts: &Accounts,
    who: &str,
    claim: Option<Claim>,
    amount: i64,
) -> Result<(), sqlx::Error> {
    let Some(claim) = claim else { return Ok(()) };
    let balance = claim.balance() - amount;
    match accounts.write(&claim, balance).await? {
        true => println!("{who} writes {balance}"),
        false => println!("{who} writes {balance}: refused"),
    }
    Ok(())
}
