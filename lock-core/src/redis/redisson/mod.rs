//! Redisson's wire: its keys, fields, channels and messages, so that Java services share our locks.

mod encode;
mod key_names;
mod scripts;

pub(crate) use encode::RedissonWire;
#[cfg(feature = "test-util")]
pub(crate) use key_names::LockNames;
#[cfg(feature = "test-util")]
pub use scripts::{SCRIPTS, SHARDED_SCRIPTS};
