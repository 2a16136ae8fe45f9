//! Subscriptions: which channels are listened to, and the connections that listen.

mod channel_filter;
mod registry;
mod subscriber;

pub(crate) use channel_filter::{ChannelFilter, SlotOwner};
pub(crate) use registry::Channels;
pub(crate) use subscriber::Subscriber;
