//! Items used by the code that `#[distributed_lock]` generates. Not part of the public interface.

pub use std::time::Duration;

#[cfg(feature = "axum")]
pub use axum::response::Response;
pub use lock_core::__private::*;
#[cfg(feature = "axum")]
pub use lock_policy::Outcome;

#[cfg(feature = "axum")]
pub use crate::attribute::client::{ClientHandle, LayerHandle, StateHandle, ambient_handle};
#[cfg(feature = "axum")]
pub use crate::attribute::handler::{HandlerOutput, run_handler};
pub use crate::attribute::{
    assert_held::assert_held,
    declared::{DeclaredKey, DeclaredLock, Spec},
    function::{FunctionOutput, is_busy, not_finished, run},
    once_per::run_once_per,
};
