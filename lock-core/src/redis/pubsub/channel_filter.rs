//! Which channels a subscriber has: all, or those of the slots of its node.

use std::fmt;

use futures_util::stream::{self, BoxStream, StreamExt};

use crate::redis::connect::Endpoint;

/// Which channels a connection subscribes to.
#[derive(Debug)]
pub(crate) enum ChannelFilter {
    All,
    /// The shard channels of the slots that one node of a cluster owns.
    Slots(Box<dyn SlotOwner>),
}

/// A node of a cluster, as seen by its subscriber.
pub(crate) trait SlotOwner: fmt::Debug + Send + Sync {
    fn owns(&self, slot: u16) -> bool;

    /// An item whenever slots may have changed their owner.
    fn changes(&self) -> BoxStream<'static, ()>;

    /// The node has answered that a slot belongs to another node now.
    fn moved(&self, slot: u16, to: Option<Endpoint>);

    /// The node has ended a subscription: it may have given the slot away.
    fn suspect(&self);
}

impl ChannelFilter {
    pub(super) fn has(&self, slot: u16) -> bool {
        match self {
            Self::All => true,
            Self::Slots(owner) => owner.owns(slot),
        }
    }

    pub(super) fn verbs(&self) -> [&'static str; 2] {
        match self {
            Self::All => ["SUBSCRIBE", "UNSUBSCRIBE"],
            Self::Slots(_) => ["SSUBSCRIBE", "SUNSUBSCRIBE"],
        }
    }

    pub(super) fn changes(&self) -> BoxStream<'static, ()> {
        match self {
            Self::All => stream::pending().boxed(),
            Self::Slots(owner) => owner.changes(),
        }
    }
}
