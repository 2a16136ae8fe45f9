//! read_write/*: locks shared by readers or held by one writer.

mod acquire_read;
mod acquire_write;
mod beside_redisson;
mod defects;
mod downgrade;
mod lease_defects;
pub(crate) mod many_readers;
mod redisson;
mod release_read;
mod release_write;
mod renew;
mod renew_batch;
mod upgrade;
