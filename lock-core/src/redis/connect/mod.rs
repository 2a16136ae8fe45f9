//! How to connect: URL, options, TLS, one server.

mod address_map;
mod dial;
mod endpoint;
mod error_class;
#[cfg(test)]
pub(crate) mod fake_server;
mod greeting;
mod options;
mod server;
mod server_errors;
mod server_role;
mod tls;
mod url;

pub(crate) use address_map::AddressMap;
pub(crate) use dial::Stream;
pub(crate) use endpoint::Endpoint;
pub(crate) use error_class::{ErrorClass, classify};
pub(crate) use lock_store::ConnectError;
pub(crate) use options::{Credentials, RedisOptions};
pub(crate) use server::Server;
pub(crate) use server_role::is_replica;
pub(crate) use tls::Connector;
pub(crate) use url::{Deployment, RedisUrl};
