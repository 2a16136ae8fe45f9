//! The path of a request: its keys, its locks, its work under them, its answer.

pub(crate) mod acquire;
pub(crate) mod body;
mod conflict;
pub(crate) mod missing_key;
pub(crate) mod pending_locks;
pub(crate) mod preflight;
pub(crate) mod reject;
pub(crate) mod request_body;
pub(crate) mod request_hold;
pub(crate) mod response_future;
pub(crate) mod route_lock;
pub(crate) mod serve;
mod store_down;
