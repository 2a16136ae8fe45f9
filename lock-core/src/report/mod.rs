//! Reports of a client's locks: counts, hot keys, leaders, recent events, orders in which locks are taken,
//! and texts for operators. Nothing here knows a hold.

mod counters;
mod hot_keys;
mod leaders;
mod lock_order;
mod recent_events;
mod work_log;

pub(crate) use counters::Statistics;
pub(crate) use hot_keys::sum;
pub(crate) use leaders::DescribeLeader;
pub(crate) use lock_order::LockOrder;
pub use lock_order::LockOrderInversion;
pub(crate) use recent_events::EventLog;
pub(crate) use work_log::{Describe, WorkLog, WorkSource, work};
