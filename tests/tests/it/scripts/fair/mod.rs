//! fair/*: locks granted in the order of their requests.

pub(crate) mod call;
mod costs;
mod defects;
mod redisson;
mod steps;
