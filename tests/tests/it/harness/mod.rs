//! The harness does what its names promise: otherwise no other test here means anything.

mod assertions;
mod checksums;
mod clients;
mod clock_shift;
pub(crate) mod documents;
mod figures;
mod http;
mod justfile;
mod postgres_server;
mod process;
mod prose;
mod proxy;
mod redis_server;
mod shared_servers;
mod table_cells;
mod tables;
mod waiting;
mod zookeeper_ensemble;
mod zookeeper_server;
