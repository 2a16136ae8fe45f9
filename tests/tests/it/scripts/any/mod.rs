//! common/*: the scripts for locks of every kind.

mod acquire_all;
mod acquire_all_call;
pub(crate) mod call;
mod management;
mod transfer;
