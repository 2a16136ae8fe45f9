//! Beside the real Redisson: its locks and ours of the same name are one lock. Beside the real Curator
//! in [`curator`].
//!
//! The Java program in `tests/interop` and the program `peer` of this package do the same things at
//! the word of the test, so that most cases are written once and run with either in either part.

mod cluster;
mod crashes;
mod crowd;
mod curator;
mod differences;
mod exclusion;
mod fair_read_write;
mod fencing;
mod hot;
mod kinds;
mod migration;
mod order;
mod peer;
mod python_set_nx;
mod reentry;
mod renewal;
mod semaphore;
mod session;
mod several_servers;
mod shared_redis;
mod spin;
mod wakeups;
