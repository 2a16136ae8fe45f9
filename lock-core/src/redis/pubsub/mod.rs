//! Subscriptions: which channels are listened to, and the connections that listen.

mod registry;
mod subscriber;

pub(crate) use registry::Channels;
pub(crate) use subscriber::{ChannelFilter, SlotOwner, Subscriber};
