//! The script calls of a client, in plain types: for tests that run the scripts elsewhere.

use std::sync::Arc;

use lock_store::{
    ClientId, ConvertCommand, FencingToken, Holder, Holds, Kind, LeaveCommand, LockKey, Mode,
    OwnerId, ReleaseCommand, RenewCommand, TransferCommand,
};

use super::store_probe::{Ask, Step};
use crate::redis::{
    native::NativeWire,
    protocol::{ReplyReader, ScriptCall, Wire},
    redisson::RedissonWire,
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
    /// `None`: Redisson's wire.
    native: Option<Arc<NativeWire>>,
}

impl ScriptCaller {
    /// An owner of this name; a permit's has 32 hexadecimal digits.
    #[must_use]
    pub fn new(kind: Kind, key: &LockKey, owner: &str) -> Self {
        Self { kind, key: key.clone(), owner: OwnerId::of_name(owner), native: None }
    }

    /// An owner on the native wire, of this client, which has seen tokens up to `known`.
    #[must_use]
    pub fn native(kind: Kind, key: &LockKey, client: &str, owner: &str, known: u64) -> Self {
        let wire = NativeWire::new(String::new(), &ClientId::of_name(client), false, false);
        wire.counter(0).granted(FencingToken::new(known), 0);
        Self { native: Some(Arc::new(wire)), ..Self::new(kind, key, owner) }
    }

    /// Returns the words of the commands that take a free lock on the native wire: the one that
    /// takes it, the one that draws its token, and the one that reads the value then.
    ///
    /// # Panics
    ///
    /// Panics on Redisson's wire, which has none.
    #[must_use]
    pub fn take_free(&self, ask: Ask) -> [Vec<Vec<u8>>; 3] {
        let wire = self.native.as_ref().expect("BUG: a caller on the native wire");
        let step = ask.by(self.holder());
        let batch = wire.free_batch(0, &[&step], 1);
        // Commands are packed as lists of texts.
        let mut reader = ReplyReader::default();
        reader.room()[..batch.bytes.len()].copy_from_slice(&batch.bytes);
        reader.arrived(batch.bytes.len());
        let mut commands = std::iter::from_fn(|| reader.next().ok().flatten())
            .map(|words| redis::from_redis_value(words).expect("BUG: a list of texts"));
        [(); 3].map(|()| commands.next().expect("BUG: three commands"))
    }

    /// Returns the call for a command.
    #[must_use]
    pub fn call(&self, step: Step, nonce: &str) -> PlainCall {
        let (steps, holder) = (self.wire(), self.holder());
        let after = |read, write| Holds { read, write };
        let call = match step {
            Step::Acquire(ask) => steps.acquire(&ask.by(holder)),
            Step::Release { mode, holds, in_line } => {
                let mut command = ReleaseCommand::new(holder, mode, holds);
                command.in_line = in_line;
                steps.release(&command)
            }
            Step::Renew { mode, lease } => steps.renew(mode, &[RenewCommand::new(holder, lease)]),
            Step::Upgrade { reads, writes, lease } => {
                steps.upgrade(&ConvertCommand::new(holder, after(reads, writes), lease))
            }
            Step::Downgrade { reads, writes, lease } => {
                steps.downgrade(&ConvertCommand::new(holder, after(reads, writes), lease))
            }
            Step::FreePermits { permits } => steps.free_permits(&self.key, permits),
            Step::SetPermits { permits } => {
                steps.set_permits(&self.key, permits).expect("BUG: Redisson's wire")
            }
            Step::TakeAway => steps.force_release(&self.key, ""),
        };
        plain(call, nonce)
    }

    /// Returns the call that inspects the lock.
    #[must_use]
    pub fn inspect(&self, nonce: &str) -> PlainCall {
        plain(self.wire().inspect(&self.key, true), nonce)
    }

    /// Returns the call that releases the lock on the native wire if no other waits.
    ///
    /// # Panics
    ///
    /// Panics on Redisson's wire, which has none.
    #[must_use]
    pub fn release_free(&self, mode: Mode) -> PlainCall {
        let wire = self.native.as_ref().expect("BUG: a caller on the native wire");
        let command = ReleaseCommand::new(self.holder(), mode, 0);
        let mut call = wire.release_free(std::iter::once(&command));
        let value = std::mem::take(&mut call.nonce);
        plain(call, &value)
    }

    /// Returns the call by which several waiters of one key leave together.
    ///
    /// # Panics
    ///
    /// Panics if there are no waiters; and on Redisson's wire for a kind that is not fair, which has
    /// no such script.
    #[must_use]
    pub fn leave(waiters: &[(&Self, Mode)], nonce: &str) -> PlainCall {
        let (first, _) = waiters.first().expect("BUG: none leaves");
        let leaves = |(caller, mode): &(&Self, Mode)| (caller.owner.clone(), *mode);
        let waiters = waiters.iter().map(leaves).collect();
        let command = LeaveCommand::new(first.kind, first.key.clone(), waiters);
        plain(first.wire().leave(&command).expect("BUG: it has such a script"), nonce)
    }

    /// Returns the call that passes this owner's hold on to another owner of the same key.
    #[must_use]
    pub fn transfer(&self, mode: Mode, to: &Self, nonce: &str) -> PlainCall {
        let command = TransferCommand::new(self.holder(), mode, to.owner.clone());
        plain(self.wire().transfer(&command), nonce)
    }

    /// Returns the call that acquires several locks.
    ///
    /// # Panics
    ///
    /// Panics if there are none.
    #[must_use]
    pub fn call_all(members: &[(&Self, Ask)], nonce: &str) -> PlainCall {
        let (first, _) = members.first().expect("BUG: no lock");
        let members: Vec<_> = members.iter().map(|(caller, ask)| ask.by(caller.holder())).collect();
        plain(first.wire().acquire_all(&members), nonce)
    }

    fn wire(&self) -> Arc<dyn Wire> {
        match &self.native {
            Some(wire) => Arc::clone(wire) as Arc<dyn Wire>,
            None => Arc::new(RedissonWire::new(String::new(), false, false)),
        }
    }

    fn holder(&self) -> Holder {
        Holder::new(self.kind, self.key.clone(), self.owner.clone())
    }
}

/// The call that a server receives.
fn plain(call: ScriptCall, nonce: &str) -> PlainCall {
    let text = |key| String::from_utf8_lossy(key).into_owned();
    let keys = call.keys.iter().map(text).collect();
    let args = call.args.iter().map(<[u8]>::to_vec);
    let args = std::iter::once(nonce.as_bytes().to_vec()).chain(args).collect();
    PlainCall { script: call.script.name, keys, args }
}
