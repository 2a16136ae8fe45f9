//! The script calls of a client, in plain types: for tests that run the scripts elsewhere.

use super::store_probe::{Ask, Step};
use crate::{
    store::{
        ConvertCommand, Holder, Holds, LeaveCommand, ReleaseCommand, RenewCommand,
        redis::protocol::{Encoder, ScriptCall, Wire},
    },
    types::{Kind, LockKey, Mode, OwnerId},
};

/// A call of a script as a server receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in EVALSHA")]
pub struct PlainCall {
    pub script: &'static str,
    pub keys: Vec<String>,
    /// The first is the nonce.
    pub args: Vec<Vec<u8>>,
}

/// One owner on one key, of a client without a prefix.
#[derive(Debug, Clone)]
pub struct ScriptCaller {
    kind: Kind,
    key: LockKey,
    owner: OwnerId,
}

impl ScriptCaller {
    /// An owner of this name; a permit's has 32 hexadecimal digits.
    #[must_use]
    pub fn new(kind: Kind, key: &LockKey, owner: &str) -> Self {
        Self { kind, key: key.clone(), owner: OwnerId::of_name(owner) }
    }

    /// Returns the call for a command.
    #[must_use]
    pub fn call(&self, step: Step, nonce: &str) -> PlainCall {
        let (steps, holder) = (steps(), self.holder());
        let after = |read, write| Holds { read, write };
        let call = match step {
            Step::Acquire(ask) => steps.acquire(&ask.by(holder)),
            Step::Release { mode, holds, in_line } => {
                steps.release(&ReleaseCommand { holder, mode, holds, in_line })
            }
            Step::Renew { mode, lease } => steps.renew(mode, &[RenewCommand { holder, lease }]),
            Step::Upgrade { reads, writes, lease } => {
                steps.upgrade(&ConvertCommand { holder, after: after(reads, writes), lease })
            }
            Step::Downgrade { reads, writes, lease } => {
                steps.downgrade(&ConvertCommand { holder, after: after(reads, writes), lease })
            }
            Step::SetPermits { permits, only_missing } => {
                steps.set_permits(&self.key, permits, only_missing)
            }
            Step::TakeAway => steps.force_release(&self.key),
        };
        plain(call, nonce)
    }

    /// Returns the call by which several waiters of one key of a fair kind leave together.
    ///
    /// # Panics
    ///
    /// Panics for another kind, which has no such script, and if there are no waiters.
    #[must_use]
    pub fn leave(waiters: &[(&Self, Mode)], nonce: &str) -> PlainCall {
        let (first, _) = waiters.first().expect("BUG: none leaves");
        let leaves = |(caller, mode): &(&Self, Mode)| (caller.owner.clone(), *mode);
        let waiters = waiters.iter().map(leaves).collect();
        let command = LeaveCommand::new(first.kind, first.key.clone(), waiters);
        plain(steps().leave(&command).expect("BUG: it is a fair kind"), nonce)
    }

    /// Returns the call that acquires several locks.
    #[must_use]
    pub fn call_all(members: &[(&Self, Ask)], nonce: &str) -> PlainCall {
        let members: Vec<_> = members.iter().map(|(caller, ask)| ask.by(caller.holder())).collect();
        plain(steps().acquire_all(&members), nonce)
    }

    fn holder(&self) -> Holder {
        Holder { kind: self.kind, key: self.key.clone(), owner: self.owner.clone() }
    }
}

fn steps() -> Encoder {
    Encoder { prefix: String::new(), permanent_tokens: false }
}

/// The call that a server receives.
fn plain(call: ScriptCall, nonce: &str) -> PlainCall {
    let text = |key| String::from_utf8_lossy(key).into_owned();
    let keys = call.keys.iter().map(text).collect();
    let args = call.args.iter().map(<[u8]>::to_vec);
    let args = std::iter::once(nonce.as_bytes().to_vec()).chain(args).collect();
    PlainCall { script: call.script.name, keys, args }
}
