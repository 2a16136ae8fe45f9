//! What the code that `#[distributed_lock]` writes calls. Not part of the public interface.

mod asserted;
pub mod clients;
mod function;
#[cfg(feature = "axum")]
mod handle;
#[cfg(feature = "axum")]
mod handler;
mod in_force;

pub use asserted::assert_held;
pub use function::run;
pub use lock_core::__private::*;
pub use std::time::Duration;

#[cfg(feature = "axum")]
pub use axum::response::Response;
#[cfg(feature = "axum")]
pub use handle::{Handle, LayerHandle, StateHandle, ambient_handle};
#[cfg(feature = "axum")]
pub use handler::run_handler;
