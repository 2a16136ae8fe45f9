//! The store in memory: the rules of the Lua scripts in Rust, on the lease clock.
//!
//! A key's [`lock`] follows the [`rules`] of its kind. The parts that kinds share (the holders, the
//! waiters, the queue of a fair lock) have one file each. All of it is pure except for the given
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
mod store_admin;
mod subscribers;
mod waiters;

pub use store::MemoryStore;
