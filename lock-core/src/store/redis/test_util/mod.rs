//! What the tests know of the scripts, of what is sent for a command, and of what a server may send.

mod script_calls;
pub mod untrusted_input;

pub use crate::store::redis::protocol::{SCRIPTS, SHARDED_SCRIPTS, ScriptText};
pub use script_calls::{Caller, ScriptCall};
