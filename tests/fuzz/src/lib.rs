//! Properties that hold for any input of clients, servers, and authors of templates and policy
//! files.
//!
//! Each function takes any bytes and panics where something is not as it is promised. `tests/anything.rs`
//! gives them the corpus (`corpus/<function>`), random bytes, and those of a fuzzer.

// Built for a fuzzer, nothing can be linked without it: the tests of this file neither, of which there
// are none.
#[cfg(test)]
use bolero as _;

mod deadline_header;
mod keys;
mod policy_file;
mod redis_replies;
mod redis_urls;
mod request_keys;
mod template;
mod tickets;
mod work_records;

pub use deadline_header::deadline_header;
pub use keys::keys;
pub use policy_file::policy_file;
pub use redis_replies::{redis_pushes, redis_replies, redis_streams};
pub use redis_urls::redis_urls;
pub use request_keys::request_keys;
pub use template::template;
pub use tickets::tickets;
pub use work_records::work_records;
