//! How a request is answered that does not get its lock, or does not keep it.

pub(crate) mod caller;
pub(crate) mod hold_time;
mod problem;
pub(crate) mod rejected_request;
pub(crate) mod rejection;
mod retry_after;
mod table;
