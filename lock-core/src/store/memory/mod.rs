//! The store in memory: the rules of the Lua scripts in Rust, on the lease clock.
//!
//! A key's [`lock`] is of one shape; what shapes have in common (the holders, the waiters,
//! the line of a fair lock) is a file of its own. All of it is pure but for the
//! moment it is given; [`MemoryStore`] has the mutex and the clock.

mod exclusive;
mod fair_queue;
mod fair_read_write;
mod holders;
mod lock;
mod lock_store;
mod read_write;
mod semaphore;
mod store;
mod subscribers;
mod waiters;

pub use store::MemoryStore;
