//! Extractors for a handler's lock.

#[cfg(feature = "axum")]
pub(crate) mod fence;
#[cfg(feature = "axum")]
pub(crate) mod fence_store;
#[cfg(feature = "axum")]
pub(crate) mod fence_trust;
#[cfg(feature = "axum")]
pub(crate) mod incoming_fence;
pub(crate) mod locked;
#[cfg(feature = "axum")]
pub(crate) mod request_client;
