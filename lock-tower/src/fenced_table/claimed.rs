/// What a statement of a [`FencedTable`](crate::FencedTable) has found.
///
/// ```
/// use lock_tower::Claimed;
///
/// # let rows_affected = 0;
/// if Claimed::by(rows_affected) == Claimed::Stale {
///     // Answer 409 or 503 and write nothing more.
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a write that was refused has not happened: look whether it is `Stale`"]
pub enum Claimed {
    /// The row is claimed by this token, and the statement was carried out.
    Ours,
    /// No row was met, and nothing was written: a holder with a later token has claimed it, after a
    /// claim of ours too. Stop: what was read may be out of date, and repeating the statement
    /// cannot help.
    ///
    /// A row that *is missing* gives the same answer: there is nothing to be claimed before it is
    /// inserted. Where that can be, ask for it (`SELECT 1 ... WHERE id = $id`) before you tell a
    /// client that somebody else was faster.
    Stale,
}

impl Claimed {
    /// Reads the number of rows that the database says a claim or a guarded update has met, such as
    /// sqlx's `rows_affected()`.
    pub fn by(rows_affected: u64) -> Self {
        match rows_affected {
            0 => Self::Stale,
            _ => Self::Ours,
        }
    }

    /// Whether the statement was carried out.
    #[must_use]
    pub fn is_ours(self) -> bool {
        self == Self::Ours
    }
}
