//! The table, and the two statements that fence it.

use lock_tower::FencingToken;
use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};

/// Accounts in SQLite.
#[derive(Debug, Clone)]
pub(crate) struct Accounts {
    database: SqlitePool,
}

/// An account as it was when the holder of this token claimed it.
#[derive(Debug)]
pub(crate) struct Claim {
    id: i64,
    token: i64,
    balance: i64,
}

impl Claim {
    /// Nobody with an earlier token has written since it was read.
    pub(crate) fn balance(&self) -> i64 {
        self.balance
    }
}

impl Accounts {
    pub(crate) async fn open() -> Result<Self, sqlx::Error> {
        // A database in memory belongs to its connection, so there is one, which stays.
        let pool =
            SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
        let options = SqliteConnectOptions::new().in_memory(true);
        let database = pool.connect_with(options).await?;
        // Less than any token, so that the first holder may claim.
        let table = "CREATE TABLE accounts (
            id      INTEGER PRIMARY KEY,
            balance INTEGER NOT NULL,
            fence   INTEGER NOT NULL DEFAULT 0
        )";
        sqlx::query(table).execute(&database).await?;
        Ok(Self { database })
    }

    pub(crate) async fn create(&self, id: i64, balance: i64) -> Result<(), sqlx::Error> {
        let insert = "INSERT INTO accounts (id, balance) VALUES ($1, $2)";
        let insert = sqlx::query(insert).bind(id).bind(balance);
        insert.execute(&self.database).await?;
        Ok(())
    }

    /// Reads an account and shuts out all who have an earlier token, in one statement. `None` when
    /// somebody with a later one was here, or there is no such account.
    pub(crate) async fn claim(
        &self,
        id: i64,
        token: FencingToken,
    ) -> Result<Option<Claim>, sqlx::Error> {
        let token = token.get().cast_signed();
        let claim = "UPDATE accounts SET fence = $2 WHERE id = $1 AND fence < $2 RETURNING balance";
        let claim = sqlx::query_scalar(claim).bind(id).bind(token);
        let balance = claim.fetch_optional(&self.database).await?;
        Ok(balance.map(|balance| Claim { id, token, balance }))
    }

    /// Writes, unless somebody else has claimed the account since. Says whether it has.
    pub(crate) async fn write(&self, claim: &Claim, balance: i64) -> Result<bool, sqlx::Error> {
        let write = "UPDATE accounts SET balance = $3 WHERE id = $1 AND fence = $2";
        let write = sqlx::query(write).bind(claim.id).bind(claim.token).bind(balance);
        let written = write.execute(&self.database).await?;
        Ok(written.rows_affected() == 1)
    }

    pub(crate) async fn balance(&self, id: i64) -> Result<i64, sqlx::Error> {
        let select = sqlx::query_scalar("SELECT balance FROM accounts WHERE id = $1").bind(id);
        select.fetch_one(&self.database).await
    }
}
