//! exclusive/*: locks with one holder.

pub(crate) mod call;
mod defects;
mod steps;
