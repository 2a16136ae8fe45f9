//! An option is out of bounds.

use thiserror::Error;

/// The error for an option that is out of bounds. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidOptions(String);

impl InvalidOptions {
    /// Creates an error whose message says which option is out of bounds, with its bounds.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}
