//! What both wires share: requests, scripts, and the decoding of replies.

mod arg_buffer;
mod counter_name;
pub(crate) mod decode;
mod lock_script;
mod name_pattern;
mod packed;
mod reply_reader;
mod request;
mod server_text;
mod slot;
mod taken_channel;
mod wakeup;
mod wire;

pub(crate) use counter_name::{counter_name, counter_pattern};
pub(crate) use decode::{MOST_TOKEN, Reply};
#[cfg(feature = "test-util")]
pub use lock_script::ScriptText;
pub(crate) use lock_script::{LockScript, script};
pub(crate) use name_pattern::NamePattern;
pub(crate) use packed::{Decimal, Packed};
pub(crate) use reply_reader::{Malformed, ReplyReader};
pub(crate) use request::{Replicas, Request, ScriptCall, SendOptions};
pub(crate) use server_text::reason;
pub(crate) use slot::{SLOTS, slot_of};
pub(crate) use taken_channel::taken_channel;
pub(crate) use wakeup::{WAKE_NUMBERS, woken_by};
pub(crate) use wire::{REQUEST_TTL, Wire};
