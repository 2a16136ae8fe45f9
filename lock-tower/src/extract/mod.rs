//! Extractors for a handler's lock.

#[cfg(feature = "axum")]
pub(crate) mod fence;
pub(crate) mod locked;
