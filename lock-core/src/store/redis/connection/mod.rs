//! Connections: opened, watched, replaced, and what the server lets them do.

mod acl;
pub(crate) mod client_name;
mod connection;
mod managed;
mod wait_pool;
mod warnings;

#[cfg(feature = "test-util")]
pub(crate) use acl::MissingRights;
pub(crate) use client_name::{ClientName, REFRESH};
#[cfg(feature = "test-util")]
pub(crate) use connection::Identity;
pub(crate) use connection::{Failure, Told, Wire, has_shard_channels};
pub(crate) use managed::{First, Link, check_server};
