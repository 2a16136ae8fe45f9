//! The code that `#[distributed_lock]` expands to.

pub(crate) mod assert_held;
#[cfg(feature = "axum")]
pub(crate) mod client;
mod effective;
pub(crate) mod function;
#[cfg(feature = "axum")]
pub(crate) mod handler;
