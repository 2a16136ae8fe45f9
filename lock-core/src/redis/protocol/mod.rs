//! Code that both wires share: requests, scripts, and the decoding of replies.

mod counter_name;
pub(crate) mod decode;
mod decode_admin;
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
pub(crate) use name_pattern::NamePattern;
pub(crate) use packed::{Decimal, Packed};
pub(crate) use reply_reader::{Malformed, ReplyReader};
#[cfg(feature = "test-util")]
pub use request::ScriptText;
#[cfg(feature = "test-util")]
pub(crate) use request::without_comments;
pub(crate) use request::{LockScript, Replicas, Request, ScriptCall, SendOptions, script};
pub(crate) use server_text::reason;
pub(crate) use slot::{SLOTS, slot_of};
pub(crate) use taken_channel::taken_channel;
pub(crate) use wakeup::{WAKE_NUMBERS, woken_by};
pub(crate) use wire::{REQUEST_TTL, Wire};
