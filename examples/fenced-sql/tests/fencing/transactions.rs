//! Claims that are not committed yet, on PostgreSQL: SQLite lets one transaction write at a time.

use fenced_sql::Accounts;
use lock_tests::{LIMIT, PostgresServer, bounded, eventually};
use lock_tower::{FencedTable, fence::Claimed};
use sqlx::{AnyPool, Connection};

use crate::databases::ADA;

const LATER: i64 = 6;
const EARLIER: i64 = 5;

/// The result of a claim with an earlier token, made while the claim with the later one is not
/// committed. Both are in transactions that start with `begin`.
async fn overtaken(begin: &'static str) -> Result<Claimed, sqlx::Error> {
    let server = PostgresServer::start().await;
    let accounts = Accounts::open(&server.url()).await.unwrap();
    accounts.create_table().await.unwrap();
    accounts.create(ADA, 100).await.unwrap();
    let pool = AnyPool::connect(&server.url()).await.unwrap();
    let claim = FencedTable::new("fenced_accounts", "id", "fence").unwrap().claim_sql();

    let mut later = pool.acquire().await.unwrap();
    let mut later = later.begin_with(begin).await.unwrap();
    sqlx::query(&claim).bind(LATER).bind(ADA).execute(&mut *later).await.unwrap();
    let earlier = tokio::spawn(async move {
        let mut earlier = pool.acquire().await?;
        let mut earlier = earlier.begin_with(begin).await?;
        let claimed = sqlx::query(&claim).bind(EARLIER).bind(ADA).execute(&mut *earlier).await?;
        Ok(Claimed::by(claimed.rows_affected()))
    });
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let waits = async || server.sql(waiting) == "1";
    eventually("a claim that waits", LIMIT, waits).await;
    later.commit().await.unwrap();
    bounded(LIMIT, earlier).await.unwrap()
}

#[tokio::test]
async fn a_claim_that_waited_for_a_later_one_is_refused() {
    assert_eq!(overtaken("BEGIN").await.unwrap(), Claimed::Stale);
}

#[tokio::test]
async fn under_a_higher_isolation_level_it_fails() {
    let error = overtaken("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap_err();
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    assert_eq!(code.as_deref(), Some("40001"), "{error}");
}
