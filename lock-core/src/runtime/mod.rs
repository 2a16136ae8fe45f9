//! Basics for every layer above: clock, pauses, mutexes.

#[cfg(feature = "zookeeper")]
mod answered_within;
pub(crate) mod backoff;
pub(crate) mod lease_clock;
mod supervisor;
mod sync;

#[cfg(feature = "zookeeper")]
pub(crate) use answered_within::answered_within;
pub(crate) use backoff::{Backoff, jittered};
pub(crate) use lease_clock::LeaseInstant;
pub(crate) use supervisor::Tasks;
pub use sync::{Mutex, RwLock};
