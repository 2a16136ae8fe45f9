//! fair_read_write/*: read/write locks granted in the order of their requests.

pub(crate) mod call;
mod edges;
mod invalid;
mod order;
mod queue;
mod redisson;
mod state;
mod steps;
