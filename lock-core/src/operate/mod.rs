//! The operators' view: live locks, lists of them, long waits with their holders, and deadlocks.

mod deadlock;
mod inspect;
mod list;
mod long_wait;
mod statistics;

pub(crate) use inspect::{hot_keys_of, inspect, inspect_all, snapshot};
pub(crate) use list::{list, list_page};
pub(crate) use long_wait::{LongWait, begins_at};
pub(crate) use statistics::statistics;
