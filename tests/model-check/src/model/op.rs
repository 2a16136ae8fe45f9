//! One step of one owner, small enough to be a part of a state.

use std::time::Duration;

use lock_core::{
    Mode,
    test_util::{Ask, PlainCall, ScriptCaller, Step},
};

use super::{
    setup::{self, Permits},
    state::Holds,
};

/// What is requested of Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "as in the steps of a store")]
pub enum Op {
    Acquire {
        mode: Mode,
        holds: u32,
        lease: i64,
        yields: bool,
        waits: bool,
        waited: i64,
    },
    Release {
        mode: Mode,
        holds: u32,
        in_line: bool,
    },
    /// Leaves the line by the command for any number of waiters.
    Leave {
        mode: Mode,
    },
    /// Takes a lock that is free by a plain command, on the native wire.
    TryFree {
        mode: Mode,
        lease: i64,
    },
    /// Draws the token for it, by the plain command that follows.
    DrawToken,
    /// Reads what stands there then.
    ReadValue,
    Renew {
        mode: Mode,
        lease: i64,
    },
    Upgrade {
        after: Holds,
        lease: i64,
    },
    Downgrade {
        after: Holds,
        lease: i64,
    },
}

pub(crate) fn span(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}

/// The nonce of every call: that answers do not get mixed up is not what is checked here.
pub(crate) const NONCE: &str = "7";

impl Op {
    /// The words of a plain command, as a client sends them.
    pub(crate) fn plain(self, permits: Permits, caller: &ScriptCaller) -> Option<Vec<Vec<u8>>> {
        let (mode, lease, which) = match self {
            Self::TryFree { mode, lease } => (mode, lease, 0),
            Self::DrawToken => (Mode::Write, 1, 1),
            Self::ReadValue => (Mode::Write, 1, 2),
            _ => return None,
        };
        let (holds, yields, waits, waited) = (1, true, false, 0);
        let ask = Self::Acquire { mode, holds, lease, yields, waits, waited }.ask(permits);
        caller.take_free(ask).into_iter().nth(which)
    }

    /// Whether Redis may refuse it at its memory limit: what gives something new. What is held can be kept
    /// and given back.
    pub(crate) fn needs_memory(self) -> bool {
        matches!(
            self,
            Self::Acquire { .. } | Self::TryFree { .. } | Self::DrawToken | Self::Upgrade { .. }
        )
    }

    /// As a client sends it.
    pub(crate) fn call(self, permits: Permits, caller: &ScriptCaller) -> PlainCall {
        let step = match self {
            Self::TryFree { .. } | Self::DrawToken | Self::ReadValue => {
                unreachable!("it is no script")
            }
            Self::Acquire { .. } => Step::Acquire(self.ask(permits)),
            Self::Release { mode, holds, in_line } => Step::Release { mode, holds, in_line },
            Self::Leave { mode } => return ScriptCaller::leave(&[(caller, mode)], NONCE),
            Self::Renew { mode, lease } => Step::Renew { mode, lease: span(lease) },
            Self::Upgrade { after: Holds { reads, writes }, lease } => {
                Step::Upgrade { reads, writes, lease: span(lease) }
            }
            Self::Downgrade { after: Holds { reads, writes }, lease } => {
                Step::Downgrade { reads, writes, lease: span(lease) }
            }
        };
        caller.call(step, NONCE)
    }

    pub(crate) fn ask(self, permits: Permits) -> Ask {
        let Self::Acquire { mode, holds, lease, yields, waits, waited } = self else {
            unreachable!("it acquires");
        };
        let place = waits.then_some(setup::PLACE);
        let (lease, waited) = (span(lease), span(waited));
        Ask {
            mode,
            holds,
            lease,
            yields,
            place,
            waited,
            permits: permits.total,
            wanted_permits: permits.wanted,
        }
    }
}
