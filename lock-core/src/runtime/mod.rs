//! Basics for every layer above: clock, pauses, mutexes.

pub(crate) mod backoff;
pub(crate) mod lease_clock;
mod supervisor;
mod sync;

pub(crate) use backoff::{Backoff, jittered};
pub(crate) use lease_clock::LeaseInstant;
pub(crate) use supervisor::Tasks;
pub use sync::{Mutex, RwLock};
