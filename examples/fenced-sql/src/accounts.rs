use lock_tower::{FencedTable, FencingToken, fence::Claimed};
use sqlx::{
    AnyPool, Row,
    any::{AnyPoolOptions, install_default_drivers},
};

/// Accounts in SQLite or PostgreSQL, depending on the URL. The statements are the same.
#[derive(Debug)]
pub struct Accounts {
    database: AnyPool,
    table: FencedTable,
    claim: String,
    write: String,
}

/// An account as it was when the holder of this token claimed it.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    id: i64,
    token: i64,
    balance: i64,
}

impl Claim {
    /// No holder of an earlier token has written since this was read.
    #[must_use]
    pub fn balance(&self) -> i64 {
        self.balance
    }
}

impl Accounts {
    /// Opens the accounts in the database with this URL, such as `sqlite::memory:`.
    ///
    /// # Errors
    ///
    /// The database cannot be reached.
    pub async fn open(url: &str) -> anyhow::Result<Self> {
        install_default_drivers();
        // A database in memory belongs to its connection, so there is one connection, which stays open.
        let pool = AnyPoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
        let table = FencedTable::new("fenced_accounts", "id", "fence")?;
        Ok(Self {
            database: pool.connect(url).await?,
            claim: table.claim_returning_sql(&["balance"])?,
            write: table.guarded_update_sql(&["balance"])?,
            table,
        })
    }

    /// Creates the table without accounts. The last statement is for a table that exists already.
    ///
    /// # Errors
    ///
    /// The database refuses.
    pub async fn create_table(&self) -> Result<(), sqlx::Error> {
        for statement in [
            "DROP TABLE IF EXISTS fenced_accounts",
            "CREATE TABLE fenced_accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)",
            &self.table.migration_sql(),
        ] {
            sqlx::query(statement).execute(&self.database).await?;
        }
        Ok(())
    }

    /// Opens an account, which is not claimed yet.
    ///
    /// # Errors
    ///
    /// There is one with this id, or the database does not answer.
    pub async fn create(&self, id: i64, balance: i64) -> Result<(), sqlx::Error> {
        let insert = "INSERT INTO fenced_accounts (id, balance) VALUES ($1, $2)";
        let insert = sqlx::query(insert).bind(id).bind(balance);
        insert.execute(&self.database).await?;
        Ok(())
    }

    /// Reads an account and locks out all holders of earlier tokens, in one statement. Returns `None`
    /// if a holder of a later token has claimed it, or there is no such account.
    ///
    /// # Errors
    ///
    /// The database does not answer. The account may be claimed nevertheless: claim it again.
    pub async fn claim(&self, id: i64, token: FencingToken) -> Result<Option<Claim>, sqlx::Error> {
        let token = token.as_i64();
        let claim = sqlx::query(&self.claim).bind(token).bind(id);
        let Some(row) = claim.fetch_optional(&self.database).await? else { return Ok(None) };
        Ok(Some(Claim { id, token, balance: row.try_get("balance")? }))
    }

    /// Writes, unless another holder has claimed the account since.
    ///
    /// # Errors
    ///
    /// The database does not answer. It may be written nevertheless: write it again.
    pub async fn write(&self, claim: &Claim, balance: i64) -> Result<Claimed, sqlx::Error> {
        let write = sqlx::query(&self.write).bind(balance).bind(claim.id).bind(claim.token);
        Ok(Claimed::by(write.execute(&self.database).await?.rows_affected()))
    }

    /// Returns the balance, for display only: base a decision on [`Claim::balance`].
    ///
    /// # Errors
    ///
    /// There is no such account, or the database does not answer.
    pub async fn balance(&self, id: i64) -> Result<i64, sqlx::Error> {
        let select = "SELECT balance FROM fenced_accounts WHERE id = $1";
        sqlx::query_scalar(select).bind(id).fetch_one(&self.database).await
    }
}
