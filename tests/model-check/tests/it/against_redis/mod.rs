//! The Redis in memory is one: random commands and random scripts have the same answers, and leave
//! the same behind, on a real server.
//!
//! Nothing waits for time: times are far apart, and where time is to pass, what stands on the real
//! server is made older.

mod commands;
mod compare;
pub(crate) mod scripts;
mod server;
