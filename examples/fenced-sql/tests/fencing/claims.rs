//! Which holder claims first, and whose later writes are refused.

use lock_tower::fence::Claimed::{Ours, Stale};

use crate::databases::{ADA, Database, on_every_database, two_holders};

on_every_database! {
    a_holder_claims_and_writes_more_than_once,
    a_former_holders_writes_are_refused,
    of_two_that_read_before_either_wrote_one_succeeds,
    a_former_holder_cannot_claim_after_the_next,
    the_next_holder_reads_what_the_last_one_wrote,
    a_row_that_is_missing_is_refused,
}

async fn a_holder_claims_and_writes_more_than_once(database: Database) {
    let accounts = &database.accounts;
    let (lock, _) = two_holders().await;
    let claim = accounts.claim(ADA, lock.fencing_token()).await.unwrap().unwrap();
    assert_eq!(claim.balance(), 100);
    assert_eq!(accounts.write(&claim, 70).await.unwrap(), Ours);
    // As after a lost answer.
    let again = accounts.claim(ADA, lock.fencing_token()).await.unwrap().unwrap();
    assert_eq!(again.balance(), 70);
    assert_eq!(accounts.write(&claim, 60).await.unwrap(), Ours);
    assert_eq!(accounts.write(&again, 50).await.unwrap(), Ours);
    assert_eq!(database.balance().await, 50);
}

async fn a_former_holders_writes_are_refused(database: Database) {
    let accounts = &database.accounts;
    let (first, second) = two_holders().await;
    let early = accounts.claim(ADA, first.fencing_token()).await.unwrap().unwrap();
    let late = accounts.claim(ADA, second.fencing_token()).await.unwrap().unwrap();
    assert_eq!(accounts.write(&late, 50).await.unwrap(), Ours);
    for balance in [70, 60] {
        assert_eq!(accounts.write(&early, balance).await.unwrap(), Stale);
    }
    assert_eq!(database.balance().await, 50);
}

/// A check of the last write alone would allow this, because the earlier holder writes first.
async fn of_two_that_read_before_either_wrote_one_succeeds(database: Database) {
    let accounts = &database.accounts;
    let (first, second) = two_holders().await;
    let early = accounts.claim(ADA, first.fencing_token()).await.unwrap().unwrap();
    let late = accounts.claim(ADA, second.fencing_token()).await.unwrap().unwrap();
    assert_eq!((early.balance(), late.balance()), (100, 100));
    assert_eq!(accounts.write(&early, 70).await.unwrap(), Stale);
    assert_eq!(accounts.write(&late, 50).await.unwrap(), Ours);
    assert_eq!(database.balance().await, 50);
}

async fn a_former_holder_cannot_claim_after_the_next(database: Database) {
    let accounts = &database.accounts;
    let (first, second) = two_holders().await;
    let late = accounts.claim(ADA, second.fencing_token()).await.unwrap().unwrap();
    assert!(accounts.claim(ADA, first.fencing_token()).await.unwrap().is_none());
    assert_eq!(accounts.write(&late, 50).await.unwrap(), Ours);
}

async fn the_next_holder_reads_what_the_last_one_wrote(database: Database) {
    let accounts = &database.accounts;
    let (first, second) = two_holders().await;
    let early = accounts.claim(ADA, first.fencing_token()).await.unwrap().unwrap();
    assert_eq!(accounts.write(&early, 70).await.unwrap(), Ours);
    let late = accounts.claim(ADA, second.fencing_token()).await.unwrap().unwrap();
    assert_eq!(late.balance(), 70);
}

async fn a_row_that_is_missing_is_refused(database: Database) {
    let (lock, _) = two_holders().await;
    let missing = database.accounts.claim(ADA + 1, lock.fencing_token()).await.unwrap();
    assert!(missing.is_none());
}
