//! The harness of this workspace's tests: servers, links, processes and clients.
//!
//! Nothing here uses a fixed port or a server that was already running. What a value started
//! ends when the value is dropped, also after a panic. Keep it in a variable of the test. A `static` is
//! not dropped: a server in one must be started with `outlives_its_test`.
//!
//! Real sockets and real processes need the real clock: do not use this crate under
//! `tokio::time::pause`.
//!
//! # Panics
//!
//! Everything here panics if the test cannot go on, with a message that names what was expected. Every
//! wait has a limit, which bounds a hang and asserts nothing about speed.
#![allow(
    clippy::missing_panics_doc,
    reason = "a harness fails a test by panicking: documented once, above"
)]

mod authority;
mod browser;
mod callgrind;
mod checksums;
mod child;
mod cli;
mod clock_shift;
mod connected;
mod cut_off;
pub mod figures;
mod file_limit;
mod free_port;
pub mod http;
mod in_memory_directory;
mod java_program;
mod least_rights;
mod lock_keys;
mod messages;
pub mod migrating;
mod mutating_link;
mod postgres_server;
mod preloaded;
mod process;
mod proxy;
mod python;
mod python_packages;
mod raw_http;
mod reaper;
mod redis_cluster;
mod redis_server;
mod room;
mod sentinels;
mod slow_disk;
mod terminal;
mod wire;
mod workspace_binary;
mod znodes;
mod zookeeper_ensemble;
mod zookeeper_server;

pub use authority::{Authority, Identity};
pub use browser::Browser;
pub use callgrind::{Executed, check_valgrind};
pub use checksums::check_sums;
pub use cli::{Cli, ConnectedClient};
pub use clock_shift::ClockShift;
pub use connected::connected;
pub use cut_off::CutOff;
pub use file_limit::raise_file_limit;
pub use free_port::free_port;
pub use in_memory_directory::in_memory_directory;
pub use java_program::{JavaProgram, Redisson, class_path};
pub use least_rights::{least_rights, listed_rights};
pub use lock_conformance::{
    LIMIT, Stopwatch, beat_on_each_processor, bounded, eventually, unless_stalled,
};
pub use lock_keys::lock_keys;
pub use messages::Messages;
pub use mutating_link::MutatingLink;
pub use postgres_server::PostgresServer;
pub use process::{Process, ProcessBuilder};
pub use proxy::{Direction, Proxy};
pub use python::PythonProgram;
pub use raw_http::RawHttp;
pub use redis_cluster::{RedisCluster, RedisClusterBuilder};
pub use redis_server::{RedisServer, RedisServerBuilder};
pub use room::{Room, Visit};
pub use sentinels::{SentinelSetup, SentinelSetupBuilder};
pub use slow_disk::SlowDisk;
pub use terminal::Terminal;
pub use wire::Wire;
pub use workspace_binary::{release_binary, workspace_binary};
pub use znodes::Znodes;
pub use zookeeper_ensemble::ZooKeeperEnsemble;
pub use zookeeper_server::{ZooKeeperMode, ZooKeeperServer, ZooKeeperServerBuilder};
