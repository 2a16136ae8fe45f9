//! Accounts in an SQL database that refuses the hand of a lock's former holder.

mod accounts;

pub use accounts::{Accounts, Claim};
