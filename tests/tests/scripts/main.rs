//! Every Lua script, asked by itself: its reply, the keys it leaves and what it publishes.
//!
//! Nothing here waits for a lease to end: a test deletes the key, which is what Redis does then.
#![allow(clippy::unwrap_used)]

mod acl;
mod acquire_read;
mod acquire_write;
mod arguments;
mod bounds;
mod call;
mod crowd;
mod downgrade;
mod faults;
mod foreign;
mod headers;
mod inspect;
mod interop;
mod java;
mod keys;
mod lease_faults;
mod mark;
mod mark_foreign;
mod memory_limit;
mod missing_right;
mod redisson;
mod release_read;
mod release_write;
mod renew;
mod renew_batch;
mod store;
mod token;
mod unmark;
mod upgrade;
mod waiter;
mod yielding;
