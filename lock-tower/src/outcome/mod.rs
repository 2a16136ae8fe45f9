//! The answers to requests that do not get their lock, or lose it.

pub(crate) mod caller;
#[cfg(feature = "tonic")]
pub mod grpc;
pub(crate) mod hold_time;
#[cfg(feature = "utoipa")]
pub mod openapi;
mod problem;
pub(crate) mod rejected_request;
pub(crate) mod rejection;
mod retry_after;
mod table;
