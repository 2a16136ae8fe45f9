//! What a request is answered that does not get its lock, or does not keep it.

mod problem;
mod refusal;
mod retry;
mod table;

pub(crate) use refusal::{Caller, Refusal};
pub use table::Outcome;
