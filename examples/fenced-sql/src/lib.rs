//! Accounts in an SQL database that refuses late writes of a lock's previous holder.

mod accounts;

pub use accounts::{Accounts, Claim};
