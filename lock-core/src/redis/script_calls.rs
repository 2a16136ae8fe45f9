//! What a client asks a server for a step, in plain types: for those who run the scripts elsewhere.

use super::{question::Call, steps::Steps};
use crate::{
    Kind, LockKey,
    backend::{ConvertStep, Holder, Holds, ReleaseStep, RenewStep},
    owner::OwnerId,
    steps::{Ask, Step},
};

/// A call of a script as a server gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in EVALSHA")]
pub struct ScriptCall {
    pub script: &'static str,
    pub keys: Vec<String>,
    /// The first is the nonce.
    pub args: Vec<Vec<u8>>,
}

/// One owner on one key, of a client without a prefix.
#[derive(Debug, Clone)]
pub struct Caller {
    kind: Kind,
    key: LockKey,
    owner: OwnerId,
}

impl Caller {
    /// Somebody of this name; a permit's has 32 hexadecimal digits.
    #[must_use]
    pub fn new(kind: Kind, key: &LockKey, owner: &str) -> Self {
        Self { kind, key: key.clone(), owner: OwnerId::of_name(owner) }
    }

    /// What is asked for a step.
    #[must_use]
    pub fn call(&self, step: Step, nonce: &str) -> ScriptCall {
        let (steps, holder) = (steps(), self.holder());
        let after = |read, write| Holds { read, write };
        let call = match step {
            Step::Acquire(ask) => steps.acquire(&ask.by(holder)),
            Step::Release { mode, holds, in_line } => {
                steps.release(&ReleaseStep { holder, mode, holds, in_line })
            }
            Step::Renew { mode, lease } => steps.renew(mode, &[RenewStep { holder, lease }]),
            Step::Upgrade { reads, writes, lease } => {
                steps.upgrade(&ConvertStep { holder, after: after(reads, writes), lease })
            }
            Step::Downgrade { reads, writes, lease } => {
                steps.downgrade(&ConvertStep { holder, after: after(reads, writes), lease })
            }
            Step::SetPermits { permits, only_missing } => {
                steps.set_permits(&self.key, permits, only_missing)
            }
            Step::TakeAway => steps.force_release(&self.key),
        };
        call.into_plain(nonce)
    }

    /// What is asked for several at once.
    #[must_use]
    pub fn call_all(members: &[(&Self, Ask)], nonce: &str) -> ScriptCall {
        let members: Vec<_> = members.iter().map(|(caller, ask)| ask.by(caller.holder())).collect();
        steps().acquire_all(&members).into_plain(nonce)
    }

    fn holder(&self) -> Holder {
        Holder { kind: self.kind, key: self.key.clone(), owner: self.owner.clone() }
    }
}

fn steps() -> Steps {
    Steps { prefix: String::new(), permanent_tokens: false }
}

impl Call {
    fn into_plain(mut self, nonce: &str) -> ScriptCall {
        self.nonce = nonce.to_owned();
        self.parts()
    }
}
