//! Beside the real Curator: its locks and ours of the same path are one lock.
//!
//! The Java program in `tests/curator` and the program `peer` of this package execute the same lines,
//! so that most cases are written once and run with each in each part.

mod crashes;
mod crowd;
mod exclusion;
mod kazoo;
mod kinds;
mod operators;
mod order;
mod reentry;
mod revocation;
mod shared_zookeeper;
mod two_clients;
mod wakeups;
