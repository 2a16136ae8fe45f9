//! An option is out of bounds.

use thiserror::Error;

/// An option is out of bounds. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidOptions(pub(crate) String);
