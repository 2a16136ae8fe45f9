//! The connection: names of keys, scripts, requests and their replies.

mod arg_buffer;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod key_names;
mod request;
pub(crate) mod scripts;
mod slot;
mod wire;

pub(crate) use decode::Reply;
pub(crate) use encode::{Encoder, woken_by};
#[cfg(feature = "test-util")]
pub(crate) use key_names::LockNames;
pub(crate) use key_names::NamePattern;
pub(crate) use request::{Replicas, Request, ScriptCall, SendOptions};
pub(crate) use scripts::LockScript;
#[cfg(feature = "test-util")]
pub use scripts::{SCRIPTS, SHARDED_SCRIPTS, ScriptText};
pub(crate) use slot::{SLOTS, slot_of};
pub(crate) use wire::Wire;
