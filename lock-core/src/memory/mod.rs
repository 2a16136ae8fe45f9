//! The store in memory: the rules of the Lua scripts in Rust, on the lease clock.

mod state;
mod store;

pub use store::MemoryStore;
