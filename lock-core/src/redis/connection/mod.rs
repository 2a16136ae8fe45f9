//! Connections: opened, watched, replaced, and their rights.

mod acl;
pub(crate) mod client_name;
mod driver;
mod managed;
mod multiplexed;
mod queue;
pub(super) mod server_check;
mod transport;
mod wait_pool;
mod warnings;
pub(crate) mod work_records;

#[cfg(feature = "test-util")]
pub(crate) use acl::MissingRights;
pub(crate) use client_name::{ClientName, REFRESH};
pub(crate) use managed::{FirstConnection, ManagedConnection};
#[cfg(feature = "test-util")]
pub(crate) use multiplexed::ConnectionId;
pub(crate) use multiplexed::{CommandReply, Connection, Failure, has_shard_channels};
pub(crate) use server_check::check_server;
pub(crate) use transport::{Transport, push_channel};
