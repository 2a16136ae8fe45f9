//! What came of a command.

use std::time::Duration;

use crate::{FencingToken, error::Unavailable};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// With a token when this is the outermost hold of a kind that has tokens.
    Granted(Option<FencingToken>),
    /// `remaining` is what the longest holder has left, or how long it is before whoever is ahead
    /// in line may be passed; `in_line` says that our place in line stands.
    Busy {
        remaining: Option<Duration>,
        in_line: bool,
    },
    /// Another waiter is next; its mark has this long to live.
    Yield {
        remaining: Duration,
    },
    Lost,
    WrongKind,
}

/// What came of several locks that were asked for at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AcquiredAll {
    /// With each one's token, in order.
    Granted(Vec<Option<FencingToken>>),
    /// The lock at this place was refused, and nothing is held.
    Refused { at: usize, answer: Acquired },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Released {
    /// Nobody holds the lock now.
    Freed,
    /// The owner or other readers still do.
    StillHeld,
    /// The hold had ended before.
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    Renewed,
    Lost,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upgraded {
    Granted(FencingToken),
    NotSole,
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Downgraded {
    Done,
    Lost,
}

/// Which server it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Another one after every start.
    pub(crate) id: String,
    /// At least so long ago it has started.
    pub(crate) up: Duration,
}

/// How the store is, for [`LockClient::health`](crate::LockClient::health).
#[derive(Debug)]
pub(crate) struct StoreHealth {
    pub(crate) kind: &'static str,
    pub(crate) round_trip: Result<Duration, Unavailable>,
    pub(crate) warnings: Vec<String>,
}
