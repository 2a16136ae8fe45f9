//! The code that `#[distributed_lock]` expands to.

pub(crate) mod assert_held;
#[cfg(feature = "axum")]
pub(crate) mod client;
pub(crate) mod declared;
pub(crate) mod function;
#[cfg(feature = "axum")]
pub(crate) mod handler;
pub(crate) mod once_per;
