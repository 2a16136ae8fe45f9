//! The differences between the databases.

use std::future::Future;

use lock_tower::fence::SqlPlaceholders;
use sqlx::{Database, Encode, Error, Type};

/// A database in which a row can be claimed. Other crates cannot implement it.
pub trait FencedDatabase: Database + sealed::Sealed {
    /// How its statements name bound values.
    #[doc(hidden)]
    const PLACEHOLDERS: SqlPlaceholders;

    /// Executes the claim of a row. Returns how many rows it met.
    #[doc(hidden)]
    fn claim<I>(
        connection: &mut Self::Connection,
        sql: &str,
        token: i64,
        id: I,
    ) -> impl Future<Output = Result<u64, Error>> + Send
    where
        I: for<'q> Encode<'q, Self> + Type<Self> + Send + Clone;

    /// Whether there is such a row.
    #[doc(hidden)]
    fn exists<I>(
        connection: &mut Self::Connection,
        sql: &str,
        id: I,
    ) -> impl Future<Output = Result<bool, Error>> + Send
    where
        I: for<'q> Encode<'q, Self> + Type<Self> + Send;

    /// Writes a statement of `FencedTable` as this database has it.
    #[doc(hidden)]
    fn dialect(sql: String) -> String {
        sql
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! fenced {
    ($feature:literal, $database:ty, $placeholders:ident, $token_twice:literal $(, $dialect:expr)?) => {
        #[cfg(feature = $feature)]
        impl sealed::Sealed for $database {}

        #[cfg(feature = $feature)]
        impl FencedDatabase for $database {
            const PLACEHOLDERS: SqlPlaceholders = SqlPlaceholders::$placeholders;

            async fn claim<I>(
                connection: &mut Self::Connection,
                sql: &str,
                token: i64,
                id: I,
            ) -> Result<u64, Error>
            where
                I: for<'q> Encode<'q, Self> + Type<Self> + Send + Clone,
            {
                let claim = sqlx::query(sql).bind(token).bind(id);
                // A question mark cannot name one value twice.
                let claim = if $token_twice { claim.bind(token) } else { claim };
                Ok(claim.execute(connection).await?.rows_affected())
            }

            async fn exists<I>(
                connection: &mut Self::Connection,
                sql: &str,
                id: I,
            ) -> Result<bool, Error>
            where
                I: for<'q> Encode<'q, Self> + Type<Self> + Send,
            {
                let found = sqlx::query(sql).bind(id).fetch_optional(connection).await?;
                Ok(found.is_some())
            }

            $(fn dialect(sql: String) -> String {
                $dialect(sql)
            })?
        }
    };
}

fenced!("postgres", sqlx::Postgres, Dollar, false);
fenced!("sqlite", sqlx::Sqlite, Dollar, false);
// Names are letters, digits and `_`: every quotation mark is one of a name.
fenced!("mysql", sqlx::MySql, Question, true, |sql: String| sql.replace('"', "`"));

#[cfg(all(test, feature = "mysql"))]
mod tests {
    use lock_tower::{FencedTable, fence::InvalidName};

    use super::*;

    #[test]
    fn the_statements_of_mysql() -> Result<(), InvalidName> {
        let table = FencedTable::try_from("shop.orders")?.placeholders(sqlx::MySql::PLACEHOLDERS);
        assert_eq!(
            sqlx::MySql::dialect(table.claim_sql()),
            "UPDATE `shop`.`orders` SET `fence` = ? WHERE `id` = ? AND `fence` <= ?"
        );
        assert_eq!(
            sqlx::MySql::dialect(table.exists_sql()),
            "SELECT 1 FROM `shop`.`orders` WHERE `id` = ?"
        );
        Ok(())
    }
}
