/// The result of a statement of a [`FencedTable`](crate::FencedTable).
///
/// ```
/// use lock_tower::fence::Claimed;
///
/// # let rows_affected = 0;
/// if Claimed::by(rows_affected) == Claimed::Stale {
///     // Answer 409 or 503 and write nothing more.
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a write that was refused has not happened: look whether it is `Stale`"]
pub enum Claimed {
    /// This token claims the row, and the statement was carried out.
    Ours,
    /// No row matched, and nothing was written: a holder with a later token has claimed the row,
    /// possibly after this holder's claim. Stop: the data read may be out of date, and repeating
    /// the statement cannot help.
    ///
    /// A *missing* row gives the same result: a row cannot be claimed before it is inserted. Where
    /// rows may be missing, check for the row (`SELECT 1 ... WHERE id = $id`) before you report to
    /// the client that another holder was faster.
    Stale,
}

impl Claimed {
    /// Interprets the number of rows that the database reports for a claim or a guarded update,
    /// such as sqlx's `rows_affected()`.
    pub fn by(rows_affected: u64) -> Self {
        match rows_affected {
            0 => Self::Stale,
            _ => Self::Ours,
        }
    }

    /// Returns whether the statement was carried out.
    #[must_use]
    pub fn is_ours(self) -> bool {
        self == Self::Ours
    }
}
