//! What is requested of Redis: for one of the locks, or for both.

use lock_core::{
    Mode,
    test_util::{PlainCall, ScriptCaller},
};

use super::setup::{LEASE_MS, Setup};
use crate::model::{Op as Alone, names::caller, op::NONCE};

/// What one owner is requested on one lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "as in the steps of a store")]
pub struct Ask {
    pub owner: u8,
    pub mode: Mode,
    pub holds: u32,
    pub yields: bool,
    pub waits: bool,
    pub waited: i64,
}

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "as in the steps of a store")]
pub enum Op {
    All([Ask; 2]),
    One(usize, Ask),
    Release { at: usize, owner: u8, mode: Mode, holds: u32, in_line: bool },
}

impl Ask {
    /// As it is requested alone.
    pub(super) fn alone(self) -> Alone {
        let Self { mode, holds, yields, waits, waited, .. } = self;
        Alone::Acquire { mode, holds, lease: LEASE_MS, yields, waits, waited }
    }

    /// What brings the owner of a lock back to one hold less, as its client would.
    pub(super) fn release(self, at: usize) -> Op {
        let Self { owner, mode, holds, .. } = self;
        Op::Release { at, owner, mode, holds: holds - 1, in_line: false }
    }

    /// The same of the lock alone.
    pub(super) fn undone(self) -> Alone {
        Alone::Release { mode: self.mode, holds: self.holds - 1, in_line: false }
    }
}

impl Op {
    /// As a client sends it.
    pub(super) fn call(self, setup: &Setup) -> PlainCall {
        let of = |at: usize, owner| caller(setup.kinds[at], &setup.names[at], owner);
        let side = |at: usize| setup.side(at);
        match self {
            Self::All([a, b]) => {
                let callers: [ScriptCaller; 2] = [of(0, a.owner), of(1, b.owner)];
                let ask = |at: usize, ask: Ask| ask.alone().ask(side(at).counts());
                ScriptCaller::call_all(&[(&callers[0], ask(0, a)), (&callers[1], ask(1, b))], NONCE)
            }
            Self::One(at, ask) => ask.alone().call(side(at).counts(), &of(at, ask.owner)),
            Self::Release { at, owner, mode, holds, in_line } => {
                let release = Alone::Release { mode, holds, in_line };
                release.call(side(at).counts(), &of(at, owner))
            }
        }
    }
}
