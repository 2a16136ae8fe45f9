mod claimed;
mod identifier;
mod placeholders;

pub use claimed::Claimed;
pub use identifier::InvalidName;
pub use placeholders::SqlPlaceholders;

use identifier::{column, table};

/// Builds SQL statements with which a table refuses a holder that has lost the lock on a row.
///
/// It returns texts, which the service runs with its own database library and the
/// [`FencingToken`](crate::FencingToken) of the lock: [`Fence`](crate::Fence) in a handler,
/// [`LockGuard::fencing_token`](crate::LockGuard::fencing_token) elsewhere.
///
/// ```
/// use lock_tower::FencedTable;
///
/// let orders = FencedTable::new("orders", "id", "fence")?;
/// // Once, in a migration.
/// assert_eq!(
///     orders.migration_sql(),
///     r#"ALTER TABLE "orders" ADD COLUMN "fence" BIGINT NOT NULL DEFAULT 0"#
/// );
/// // First: claim the row, and read it as it is from now on. Bind token, id.
/// assert_eq!(
///     orders.claim_returning_sql(&["state", "total"])?,
///     r#"UPDATE "orders" SET "fence" = $1 WHERE "id" = $2 AND "fence" <= $1 RETURNING "state", "total""#
/// );
/// // Then: write what was decided, as often as needed. Bind state, total, id, token.
/// assert_eq!(
///     orders.guarded_update_sql(&["state", "total"])?,
///     r#"UPDATE "orders" SET "state" = $1, "total" = $2 WHERE "id" = $3 AND "fence" = $4"#
/// );
/// # Ok::<(), lock_tower::fence::InvalidName>(())
/// ```
///
/// # The rule
///
/// 1. The first statement of the work *claims* the row, before anything of it is read or decided.
/// 2. The data for the decision is read by the claim or after it.
/// 3. Every later write checks the claim: `fence = $token`.
/// 4. A statement that meets no row ends the work: see [`Claimed::Stale`].
///
/// A claim excludes all holders with an earlier token, including those that have claimed before.
///
/// # Why a check of each write is not enough
///
/// It is tempting to keep the read unchanged and to write with `fence < $token`. Suppose that two
/// holders work on an account of 100, and that the first has lost the lock without noticing:
///
/// | first, token 1 | second, token 2 | with a check of the write | with a claim |
/// |---|---|---|---|
/// | begins, reads 100 | | | `fence` is 1 |
/// | | begins, reads 100 | | `fence` is 2 |
/// | takes 30, writes 70 | | done: 1 is the greatest token that has written | refused: `fence` is not 1 |
/// | | takes 50, writes 50 | done, as 2 is greater; the 30 are back | done |
///
/// Both operations report success, and the first withdrawal is lost. The claim makes the second's
/// *reading* count.
///
/// # A claim repeated
///
/// A holder may claim a row again (`<=`, not `<`): when the answer to the first claim was lost, or
/// when a locked function that calls another enters the same hold again, with the same token. No
/// two holders of a write lock have the same token. Readers may, so claim under a write lock or a
/// lock without readers.
///
/// # Requirements
///
/// - The column `id` is unique: a statement meets one row or none.
/// - A row is claimed under one key only. Tokens of different keys cannot be compared.
/// - Every write to a protected row goes through a claim, also in other programs.
/// - A row is there before it is claimed: insert it with the default, a fence of 0, such as by
///   `INSERT ... ON CONFLICT DO NOTHING`.
/// - The claim is committed before others see it. In a transaction with the writes it is safe too,
///   as it locks the row; but a holder that is stopped there blocks its successor until the
///   database drops its connection. At isolation levels above `READ COMMITTED` PostgreSQL may
///   refuse one of two claims with a serialization error: repeat the transaction from its claim.
///
/// # Databases
///
/// The statements are plain SQL; names are in double quotes, so give them as the database has
/// them, upper and lower case. Tested on PostgreSQL and SQLite. MySQL needs the mode `ANSI_QUOTES`,
/// a connection that counts the rows found, not those changed (`CLIENT_FOUND_ROWS`), and, as it has
/// no `RETURNING`, a `SELECT` after the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencedTable {
    // All in quotes.
    table: String,
    id: String,
    fence: String,
    placeholders: SqlPlaceholders,
}

impl FencedTable {
    /// Describes the table with this name, such as `orders` or `shop.orders`; `id` is the unique
    /// column by which a row is found, and `fence` the column that stores the last claim's token.
    ///
    /// Names consist of letters, digits and `_`, at most 63, and do not begin with a digit.
    ///
    /// # Errors
    ///
    /// [`InvalidName`]: a name has other characters, or the two columns are the same.
    pub fn new(name: &str, id: &str, fence: &str) -> Result<Self, InvalidName> {
        if same(id, fence) {
            return Err(InvalidName::new(fence, "is both the id and the fence: take two columns"));
        }
        let (table, id, fence) = (table(name)?, column(id)?, column(fence)?);
        Ok(Self { table, id, fence, placeholders: SqlPlaceholders::default() })
    }

    /// Sets how the statements name bound values. Default: [`SqlPlaceholders::Dollar`].
    #[must_use]
    pub fn placeholders(self, placeholders: SqlPlaceholders) -> Self {
        Self { placeholders, ..self }
    }

    /// Returns the statement that adds the fence column, with 0 in every row: less than any token.
    #[must_use]
    pub fn migration_sql(&self) -> String {
        let Self { table, fence, .. } = self;
        format!("ALTER TABLE {table} ADD COLUMN {fence} BIGINT NOT NULL DEFAULT 0")
    }

    /// Returns the first statement of the work: it excludes all holders with an earlier token.
    ///
    /// Bind token, id; and the token again with [`SqlPlaceholders::Question`], which cannot name
    /// one value twice. [`Claimed::by`] interprets the number of rows.
    #[must_use]
    pub fn claim_sql(&self) -> String {
        let Self { table, id, fence, .. } = self;
        let mut place = self.placeholders.places();
        let (token, wanted_id) = (place.next(), place.next());
        let again = place.again(1);
        format!(
            "UPDATE {table} SET {fence} = {token} WHERE {id} = {wanted_id} AND {fence} <= {again}"
        )
    }

    /// Returns the statement of [`claim_sql`](Self::claim_sql) that also returns these columns of
    /// the claimed row. A refused claim returns no row.
    ///
    /// # Errors
    ///
    /// [`InvalidName`]: a column's name is invalid, or there are no columns.
    pub fn claim_returning_sql(&self, columns: &[&str]) -> Result<String, InvalidName> {
        let columns = self.columns(columns)?.join(", ");
        Ok(format!("{} RETURNING {columns}", self.claim_sql()))
    }

    /// Returns the statement that finds a row, claimed or not: it distinguishes a late claim from a
    /// missing row. Bind id.
    #[must_use]
    pub fn exists_sql(&self) -> String {
        let Self { table, id, .. } = self;
        let wanted_id = self.placeholders.places().next();
        format!("SELECT 1 FROM {table} WHERE {id} = {wanted_id}")
    }

    /// Returns every later statement: it writes these columns, unless another holder has claimed
    /// the row since.
    ///
    /// Bind the columns' values in their order, then id, token. [`Claimed::by`] interprets the
    /// number of rows.
    ///
    /// # Errors
    ///
    /// [`InvalidName`]: a column's name is invalid, there are none, or it is the fence's or the
    /// id's, which such a write must not change.
    pub fn guarded_update_sql(&self, columns: &[&str]) -> Result<String, InvalidName> {
        let Self { table, id, fence, .. } = self;
        let columns = self.columns(columns)?;
        if let Some(kept) = columns.iter().find(|name| same(name, id) || same(name, fence)) {
            let why = "is the id or the fence: a guarded update leaves both as they are";
            return Err(InvalidName::new(&bare(kept), why));
        }
        let mut place = self.placeholders.places();
        let values = columns.iter().map(|column| format!("{column} = {}", place.next()));
        let values = values.collect::<Vec<_>>().join(", ");
        let (wanted_id, token) = (place.next(), place.next());
        Ok(format!("UPDATE {table} SET {values} WHERE {id} = {wanted_id} AND {fence} = {token}"))
    }

    fn columns(&self, columns: &[&str]) -> Result<Vec<String>, InvalidName> {
        if columns.is_empty() {
            return Err(InvalidName::new(&bare(&self.table), "is given no columns: name one"));
        }
        columns.iter().map(|name| column(name)).collect()
    }
}

/// A table whose columns are named `id` and `fence`.
impl TryFrom<&str> for FencedTable {
    type Error = InvalidName;

    fn try_from(name: &str) -> Result<Self, InvalidName> {
        Self::new(name, "id", "fence")
    }
}

/// Some databases do not distinguish `Fence` from `fence`, even quoted.
fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Returns the name as it was given, for an error.
fn bare(quoted: &str) -> String {
    quoted.replace('"', "")
}
