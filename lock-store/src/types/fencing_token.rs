use std::fmt;

/// A number that grows with every grant of a key, for the resource to refuse a holder whose lease
/// has ended.
///
/// A write's token exceeds every earlier token of its key, a read's every earlier write's. Tokens
/// are Redis' clock in microseconds, or one more than the last token where that is greater: they
/// keep growing across expiry, and after a failover that lost the last ones.
///
/// Checking a token only on the last write is not fencing: two holders may both read before either
/// writes. Let the *first* statement claim the row, and later ones check the claim:
///
/// ```sql
/// UPDATE orders SET fence = $token WHERE id = $id AND fence <= $token RETURNING *;
/// -- ... decide ...
/// UPDATE orders SET state = $state WHERE id = $id AND fence = $token;
/// ```
///
/// It fits a signed 64-bit column for the next 290,000 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(u64);

impl FencingToken {
    /// The token that is less than every token that is ever handed out: a resource that checks
    /// refuses it.
    pub const NONE: Self = Self(0);

    /// Creates a token from a number that a [store](crate::LockStore) gives out.
    #[must_use]
    #[inline]
    pub fn new(value: u64) -> Self {
        Self(value)
    }

    /// Returns the one after it, which must have been reserved.
    #[doc(hidden)]
    #[inline]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns the number itself.
    #[must_use]
    #[inline]
    pub fn get(self) -> u64 {
        self.0
    }

    /// Returns the number as SQL has it, which has no unsigned ones: for a column of type `BIGINT`.
    #[must_use]
    pub fn as_i64(self) -> i64 {
        // Where it did not fit it would be less than any other, and so be refused everywhere.
        self.0.cast_signed()
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
