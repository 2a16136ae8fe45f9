//! The rights that the scripts need, and what happens without them.

pub(crate) mod required;
mod startup_check;
mod state_after_refusal;
