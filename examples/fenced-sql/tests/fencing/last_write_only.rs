//! An insufficient form of fencing: reading as usual, and checking the token of each write.

use lock_tower::{FencingToken, fence::Claimed};
use sqlx::AnyPool;

use crate::databases::{ADA, Database, on_every_database, two_holders};

on_every_database! {
    two_that_have_read_the_same_both_succeed_and_one_update_is_lost,
    the_same_two_under_a_claim_lose_nothing,
}

/// Refuses a token below that of the last write.
async fn write_if_newer(pool: &AnyPool, token: FencingToken, balance: i64) -> Claimed {
    let write = "UPDATE fenced_accounts SET balance = $1, fence = $2 WHERE id = $3 AND fence < $2";
    let write = sqlx::query(write).bind(balance).bind(token.as_i64()).bind(ADA);
    Claimed::by(write.execute(pool).await.unwrap().rows_affected())
}

async fn two_that_have_read_the_same_both_succeed_and_one_update_is_lost(database: Database) {
    let pool = database.pool().await;
    let (first, second) = two_holders().await;
    let (seen_by_first, seen_by_second) = (database.balance().await, database.balance().await);

    let done = write_if_newer(&pool, first.fencing_token(), seen_by_first - 30).await;
    assert!(done.is_ours());
    let done = write_if_newer(&pool, second.fencing_token(), seen_by_second - 50).await;
    assert!(done.is_ours());

    // 80 were paid out, 50 are missing.
    assert_eq!(database.balance().await, 50);
}

async fn the_same_two_under_a_claim_lose_nothing(database: Database) {
    let accounts = &database.accounts;
    let (first, second) = two_holders().await;
    let early = accounts.claim(ADA, first.fencing_token()).await.unwrap().unwrap();
    let late = accounts.claim(ADA, second.fencing_token()).await.unwrap().unwrap();

    let mut given = 0;
    for (claim, amount) in [(early, 30), (late, 50)] {
        if accounts.write(&claim, claim.balance() - amount).await.unwrap().is_ours() {
            given += amount;
        }
    }
    assert!(given > 0);
    assert_eq!(database.balance().await, 100 - given);
}
