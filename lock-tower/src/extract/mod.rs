//! Extractors for a handler's lock, and the answer of a handler that acquires one itself.

#[cfg(feature = "axum")]
pub(crate) mod fence;
#[cfg(feature = "axum")]
pub(crate) mod fence_store;
#[cfg(feature = "axum")]
pub(crate) mod fence_trust;
#[cfg(feature = "axum")]
pub(crate) mod incoming_fence;
pub(crate) mod lock_rejection;
pub(crate) mod locked;
#[cfg(feature = "axum")]
pub(crate) mod request_client;
