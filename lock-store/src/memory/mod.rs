//! The store in memory: the rules of the Lua scripts in Rust, on the lease clock.
//!
//! A key's [`lock`] follows the [`rules`] of its kind; what kinds have in common (the holders, the
//! waiters, the queue of a fair lock) is a file of its own. All of it is pure except for the given
//! current time; [`MemoryStore`] has the mutex and the clock.

mod exclusive;
mod fair_queue;
mod fair_read_write;
mod holders;
mod lock;
mod lock_store;
mod read_write;
mod rules;
mod semaphore;
mod store;
mod subscribers;
mod waiters;

pub use store::MemoryStore;
