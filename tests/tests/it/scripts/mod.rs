//! Every Lua script, called directly: its reply, the keys it leaves and what it publishes.
//!
//! Nothing here waits for a lease to end: a test deletes the key, which is what Redis does then.

mod acl;
mod any;
mod contract;
mod fair;
mod fair_read_write;
mod plain;
mod queue;
mod read_write;
mod semaphore;
mod support;
