//! semaphore/*: permits.

pub(crate) mod call;
mod edges;
mod queue;
mod several;
pub(crate) mod steps;
