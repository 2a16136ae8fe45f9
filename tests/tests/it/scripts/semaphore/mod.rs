//! semaphore/*: permits.

pub(crate) mod call;
mod edges;
mod queue;
pub(crate) mod steps;
