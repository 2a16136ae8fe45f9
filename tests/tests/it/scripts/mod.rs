//! Every Lua script of both wires, called directly: its reply, the keys it leaves and what it publishes.
//! `contract` is what all of them promise, `native` each reply of the native wire; the other folders
//! are of Redisson's.
//!
//! Nothing here waits for a lease to end: a test deletes the key, which is what Redis does then.

mod acl;
mod any;
mod contract;
mod fair;
mod fair_read_write;
mod native;
mod plain;
mod queue;
mod read_write;
mod semaphore;
mod support;
