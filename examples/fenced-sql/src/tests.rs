//! The claiming rule holds in a real database, with the tokens of real locks.
#![allow(clippy::unwrap_used)]

use super::*;

/// Two who hold one lock at the same time, because the first has lost it and does not know.
async fn two_holders() -> (LockGuard, LockGuard) {
    let store = MemoryStore::new();
    let here = LockClient::builder().in_memory_on(&store);
    let there = LockClient::builder().in_memory_on(&store);
    let first = here.write("account:7").acquire().await.unwrap();
    store.remove(first.key());
    let second = there.write("account:7").acquire().await.unwrap();
    (first, second)
}

async fn with_100() -> Accounts {
    let accounts = Accounts::open().await.unwrap();
    accounts.create(ADA, 100).await.unwrap();
    accounts
}

#[tokio::test]
async fn a_holder_claims_and_writes_more_than_once() {
    let accounts = with_100().await;
    let (lock, _) = two_holders().await;
    let claim = accounts.claim(ADA, lock.fencing_token()).await.unwrap().unwrap();
    assert_eq!(claim.balance(), 100);
    assert!(accounts.write(&claim, 70).await.unwrap());
    assert!(accounts.write(&claim, 60).await.unwrap());
    assert_eq!(accounts.balance(ADA).await.unwrap(), 60);
}

#[tokio::test]
async fn a_former_holders_update_is_refused() {
    let accounts = with_100().await;
    let (first, second) = two_holders().await;
    let early = accounts.claim(ADA, first.fencing_token()).await.unwrap().unwrap();
    let late = accounts.claim(ADA, second.fencing_token()).await.unwrap().unwrap();
    assert!(accounts.write(&late, 50).await.unwrap());
    assert!(!accounts.write(&early, 70).await.unwrap());
    assert_eq!(accounts.balance(ADA).await.unwrap(), 50);
}

/// Which a check of the last write alone would allow: the earlier one writes first.
#[tokio::test]
async fn of_two_who_read_before_either_wrote_one_succeeds() {
    let accounts = with_100().await;
    let (first, second) = two_holders().await;
    let early = accounts.claim(ADA, first.fencing_token()).await.unwrap().unwrap();
    let late = accounts.claim(ADA, second.fencing_token()).await.unwrap().unwrap();
    assert_eq!((early.balance(), late.balance()), (100, 100));
    assert!(!accounts.write(&early, 70).await.unwrap());
    assert!(accounts.write(&late, 50).await.unwrap());
    assert_eq!(accounts.balance(ADA).await.unwrap(), 50);
}

#[tokio::test]
async fn a_former_holder_cannot_claim_after_the_next() {
    let accounts = with_100().await;
    let (first, second) = two_holders().await;
    let late = accounts.claim(ADA, second.fencing_token()).await.unwrap().unwrap();
    assert!(accounts.claim(ADA, first.fencing_token()).await.unwrap().is_none());
    assert!(accounts.write(&late, 50).await.unwrap());
}

#[tokio::test]
async fn the_next_holder_reads_what_the_last_one_wrote() {
    let accounts = with_100().await;
    let (first, second) = two_holders().await;
    let early = accounts.claim(ADA, first.fencing_token()).await.unwrap().unwrap();
    assert!(accounts.write(&early, 70).await.unwrap());
    let late = accounts.claim(ADA, second.fencing_token()).await.unwrap().unwrap();
    assert_eq!(late.balance(), 70);
}
