//! What a request is answered that does not get its lock, or does not keep it.

mod problem;
mod refusal;
mod refused;
mod retry;
mod table;

pub(crate) use refusal::{Caller, Refusal, milliseconds};
pub use refused::Refused;
pub use table::Outcome;
