//! The statements that the accounts do not use run on the databases too.

use lock_tower::{
    FencedTable,
    fence::{Claimed, SqlPlaceholders},
};
use sqlx::AnyPool;

use crate::databases::{ADA, Database, on_every_database};

on_every_database! {
    a_holder_without_a_claim_may_not_write,
    a_claim_without_columns_reports_by_its_rows,
    names_that_are_words_of_sql_and_have_capitals,
}

fn accounts() -> FencedTable {
    FencedTable::new("fenced_accounts", "id", "fence").unwrap()
}

async fn rows(pool: &AnyPool, statement: &str, values: &[i64]) -> Claimed {
    let query = values.iter().fold(sqlx::query(statement), |query, value| query.bind(*value));
    Claimed::by(query.execute(pool).await.unwrap().rows_affected())
}

async fn a_claim_without_columns_reports_by_its_rows(database: Database) {
    let pool = database.pool().await;
    let claim = accounts().claim_sql();
    for (token, claimed) in
        [(5, Claimed::Ours), (5, Claimed::Ours), (4, Claimed::Stale), (6, Claimed::Ours)]
    {
        assert_eq!(rows(&pool, &claim, &[token, ADA]).await, claimed, "{token}");
    }
    assert_eq!(rows(&pool, &claim, &[7, ADA + 1]).await, Claimed::Stale, "no such row");
}

async fn a_holder_without_a_claim_may_not_write(database: Database) {
    let pool = database.pool().await;
    let write = accounts().guarded_update_sql(&["balance"]).unwrap();
    assert!(rows(&pool, &accounts().claim_sql(), &[5, ADA]).await.is_ours());
    for token in [4, 6] {
        assert_eq!(rows(&pool, &write, &[80, ADA, token]).await, Claimed::Stale, "{token}");
    }
    assert_eq!(database.balance().await, 100);
}

async fn names_that_are_words_of_sql_and_have_capitals(database: Database) {
    let pool = database.pool().await;
    let create =
        r#"CREATE TABLE "order" ("Select" BIGINT PRIMARY KEY, "To" BIGINT, "from" BIGINT)"#;
    sqlx::query(create).execute(&pool).await.unwrap();
    sqlx::query(r#"INSERT INTO "order" VALUES (7, 0, 0)"#).execute(&pool).await.unwrap();
    let table = FencedTable::new("order", "Select", "where").unwrap();

    sqlx::query(&table.migration_sql()).execute(&pool).await.unwrap();
    assert!(rows(&pool, &table.claim_sql(), &[5, 7]).await.is_ours());
    let write = table.guarded_update_sql(&["To", "from"]).unwrap();
    assert!(rows(&pool, &write, &[1, 2, 7, 5]).await.is_ours());
    assert!(!rows(&pool, &write, &[3, 4, 7, 4]).await.is_ours());
    let read = table.claim_returning_sql(&["To", "from"]).unwrap();
    let read = sqlx::query_as::<_, (i64, i64)>(&read).bind(6_i64).bind(7_i64);
    assert_eq!(read.fetch_one(&pool).await.unwrap(), (1, 2));
}

#[tokio::test]
async fn question_marks_are_bound_in_the_order_of_the_text() {
    let database = Database::sqlite().await;
    let pool = database.pool().await;
    let table = accounts().placeholders(SqlPlaceholders::Question);
    assert!(rows(&pool, &table.claim_sql(), &[5, ADA, 5]).await.is_ours());
    assert!(!rows(&pool, &table.claim_sql(), &[4, ADA, 4]).await.is_ours());
    let write = table.guarded_update_sql(&["balance"]).unwrap();
    assert!(rows(&pool, &write, &[80, ADA, 5]).await.is_ours());
    assert_eq!(database.balance().await, 80);
}
