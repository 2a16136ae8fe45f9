//! What a handler sees of its lock.

#[cfg(feature = "axum")]
pub(crate) mod fence;
pub(crate) mod locked;
