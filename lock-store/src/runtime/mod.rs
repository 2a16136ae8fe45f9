//! Basics for every layer above: clock, pauses, mutexes.

mod answered_within;
pub mod backoff;
pub mod lease_clock;
mod supervisor;
mod sync;

pub use answered_within::answered_within;
pub use backoff::{Backoff, jittered};
pub use lease_clock::LeaseInstant;
pub use supervisor::Tasks;
pub use sync::{Mutex, RwLock};
