//! Encodes commands for the native wire: the script of each, with its keys and arguments.

use std::{borrow::Cow, time::Duration};

use lock_store::{
    AcquireCommand, ClientId, ConvertCommand, Kind, LeaveCommand, LockKey, Mode, OwnerId,
    ReleaseCommand,
};

use super::{
    free::{FreeValue, TokenCounter},
    key_names, scripts,
};
use crate::redis::protocol::{
    Decimal, Packed, SLOTS, ScriptCall, WAKE_NUMBERS, Wire, counter_name, slot_of,
};

#[derive(Debug)]
pub(crate) struct NativeWire {
    pub(super) prefix: String,
    pub(super) client: ClientId,
    /// Other libraries take these locks too.
    pub(crate) beside_set_nx: bool,
    /// One, or in a cluster one for each slot.
    counters: Vec<TokenCounter>,
    /// The name of the counter, unless there are several.
    single_counter: Option<String>,
}

impl NativeWire {
    pub(crate) fn new(
        prefix: String,
        client: &ClientId,
        in_cluster: bool,
        beside_set_nx: bool,
    ) -> Self {
        let counters = if in_cluster { usize::from(SLOTS) } else { 1 };
        let counters = std::iter::repeat_with(TokenCounter::default).take(counters).collect();
        let single_counter = (!in_cluster).then(|| counter_name(&prefix, None));
        Self { prefix, client: client.clone(), beside_set_nx, counters, single_counter }
    }

    /// Adds all names of a lock.
    pub(super) fn locked(&self, call: ScriptCall, key: &LockKey) -> ScriptCall {
        whole(call, &self.lock_name(key))
    }

    /// Adds all names of a lock and the name of its counter. Also returns the greatest token that
    /// this client knows.
    pub(super) fn counted(&self, call: ScriptCall, key: &LockKey) -> (ScriptCall, u64) {
        let lock = self.lock_name(key);
        let slot = self.slot(&lock);
        let call = whole(call, &lock).key(&*self.counter_name(slot.unwrap_or(0)));
        (call, self.counter(slot.unwrap_or(0)).known())
    }

    pub(super) fn slot(&self, lock: &str) -> Option<u16> {
        (self.counters.len() > 1).then(|| slot_of(lock.as_bytes()))
    }

    /// The slot of a lock; 0 on a single server.
    pub(crate) fn slot_of(&self, key: &LockKey) -> u16 {
        if self.counters.len() == 1 {
            return 0;
        }
        self.slot(&self.lock_name(key)).unwrap_or(0)
    }

    pub(super) fn counter_name(&self, slot: u16) -> Cow<'_, str> {
        match &self.single_counter {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(counter_name(&self.prefix, Some(slot))),
        }
    }

    pub(crate) fn counter(&self, slot: u16) -> &TokenCounter {
        &self.counters[usize::from(slot)]
    }

    /// The value of a lock that was free.
    #[inline]
    pub(crate) fn free_value<'a>(&self, command: &'a AcquireCommand) -> FreeValue<'a> {
        self.value(command.kind, &command.owner, command.mode)
    }

    /// Acquires locks that are free, then draws `tokens` tokens, then reads the locks' values.
    pub(crate) fn free_batch(
        &self,
        slot: u16,
        commands: &[&AcquireCommand],
        tokens: u64,
    ) -> Packed {
        let mut batch = Packed::with_capacity(128 + 256 * commands.len());
        let prefix = self.prefix.as_bytes();
        for command in commands {
            batch.command(6).arg("SET").joined(&[prefix, command.key.as_str().as_bytes()]);
            batch.joined(&self.free_value(command).parts());
            batch.arg("NX").arg("PX").number(whole_ms(command.lease));
        }
        // After all SETs: a token that is drawn before its lock is acquired could be smaller than
        // that of a holder in between. Fencing would then reject the writes of the rightful holder.
        batch.command(3).arg("INCRBY").arg(&*self.counter_name(slot)).number(tokens);
        // Read after the token is drawn: an operator may have taken a lock away between the two.
        batch.command(1 + commands.len()).arg(if commands.len() == 1 { "GET" } else { "MGET" });
        for command in commands {
            batch.joined(&[prefix, command.key.as_str().as_bytes()]);
        }
        batch
    }

    pub(crate) fn leave_line(&self, command: &LeaveCommand) -> ScriptCall {
        let call =
            self.locked(ScriptCall::new(&scripts::LEAVE), &command.key).arg(letter(command.kind));
        let waiters = command.waiters.iter();
        waiters.fold(call, |call, (owner, mode)| call.arg(self.owner(owner)).arg(mode.as_str()))
    }

    /// Releases locks that their owners hold once and that have no waiter. The nonce is the value
    /// of the first.
    pub(crate) fn release_free<'a>(
        &self,
        mut steps: impl Iterator<Item = &'a ReleaseCommand>,
    ) -> ScriptCall {
        let mut call = ScriptCall::new(&scripts::RELEASE_FREE);
        let lock = |command: &'a ReleaseCommand| {
            [self.prefix.as_bytes(), command.holder.key.as_str().as_bytes()]
        };
        if let Some(first) = steps.next() {
            call = call.joined_key(&lock(first));
            call.nonce = self.held_value(first).text();
        }
        steps.fold(call, |call, command| {
            call.joined_key(&lock(command)).joined_arg(&self.held_value(command).parts())
        })
    }

    pub(super) fn release_all<'a>(
        &self,
        commands: impl Iterator<Item = &'a ReleaseCommand>,
    ) -> ScriptCall {
        commands.fold(ScriptCall::new(&scripts::RELEASE), |call, command| {
            self.locked(call, &command.holder.key)
                .joined_arg(&self.held_value(command).parts())
                .number(command.holds)
                .flag(command.in_line)
        })
    }

    /// An owner as Redis has it: the id of its client comes first, so that only this client
    /// receives a waiter's message.
    #[inline]
    pub(super) fn owner(&self, owner: &OwnerId) -> String {
        match owner.client() {
            Some(_) => owner.to_string(),
            None => format!("{}:{owner}", self.client.as_str()),
        }
    }

    #[inline]
    fn held_value<'a>(&self, command: &'a ReleaseCommand) -> FreeValue<'a> {
        self.value(command.holder.kind, &command.holder.owner, command.mode)
    }

    /// The value of a lock that this owner alone holds once, without waiters.
    #[inline]
    fn value<'a>(&self, kind: Kind, owner: &'a OwnerId, mode: Mode) -> FreeValue<'a> {
        let (owner, number) = match owner.numbered() {
            Some((client, number)) => (Cow::Borrowed(client), Some(Decimal::of(number))),
            None => (Cow::Owned(self.owner(owner)), None),
        };
        let mode = if mode == Mode::Read { "r" } else { "w" };
        FreeValue { kind: letter(kind), mode, owner, number }
    }

    pub(super) fn acquired(&self, call: ScriptCall, command: &AcquireCommand) -> ScriptCall {
        let (call, known) = self.counted(call, &command.key);
        call.arg(self.owner(&command.owner))
            .arg(letter(command.kind))
            .arg(command.mode.as_str())
            .ms(command.lease)
            .number(if command.kind == Kind::Semaphore {
                command.wanted_permits
            } else {
                command.holds
            })
            .ms(command.place.unwrap_or_default())
            .flag(command.yields)
            .number(command.reserved_tokens)
            .number(known)
            .number(command.permits)
            .flag(self.beside_set_nx)
            .number(u64::try_from(command.waited.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn convert(&self, command: &ConvertCommand, to: Mode) -> ScriptCall {
        let (call, known) = self.counted(ScriptCall::new(&scripts::CONVERT), &command.holder.key);
        call.arg(self.owner(&command.holder.owner))
            .arg(letter(command.holder.kind))
            .arg(to.as_str())
            .ms(command.lease)
            .number(command.after.read)
            .number(command.after.write)
            .number(known)
    }
}

/// Adds all names of a lock: see `lib/value`.
pub(super) fn whole(call: ScriptCall, lock: &str) -> ScriptCall {
    key_names::beside_lock(lock).into_iter().fold(call.key(lock), ScriptCall::key)
}

/// Rounded up: a lease is never shorter than requested.
fn whole_ms(span: Duration) -> u64 {
    u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The letter of a kind in a lock's value.
pub(super) fn letter(kind: Kind) -> &'static str {
    match kind {
        Kind::ReadWrite => "r",
        Kind::FairReadWrite => "q",
        Kind::Reentrant => "e",
        Kind::NonReentrant => "n",
        Kind::Fair => "f",
        Kind::Fenced => "t",
        Kind::Semaphore => "s",
    }
}

/// The number in a message for this waiter: see `lib/line`.
pub(super) fn wake_number(owner: &str) -> Option<u8> {
    let [.., tens, ones] = owner.as_bytes() else { return None };
    u8::try_from((10 * u32::from(*tens) + u32::from(*ones)) % WAKE_NUMBERS).ok()
}

#[cfg(test)]
mod tests {
    use lock_store::FencingToken;

    use super::*;

    #[test]
    fn the_number_of_a_waiter_is_that_of_its_last_digits() {
        for (owner, number) in [("c:00", 16), ("c:01", 17), ("c:15", 31), ("c:16", 0), ("c:9", 29)]
        {
            assert_eq!(wake_number(owner), Some(number), "{owner}");
        }
        assert_eq!(wake_number("c"), None);
    }

    #[test]
    fn a_grant_of_several_locks_raises_what_is_known_of_their_counter() {
        let wire = NativeWire::new("lock:".to_owned(), &ClientId::random(), false, false);
        let key = LockKey::try_from("k").expect("a key");
        wire.granted(&key, FencingToken::new(5), 2);
        assert_eq!(wire.counter(0).known(), 7);
    }

    #[test]
    fn the_channels_of_waiters_and_of_holders_need_rights() {
        let wire = NativeWire::new("lock:".to_owned(), &ClientId::random(), false, false);
        let patterns = wire.channel_patterns().into_iter().map(|sort| sort.pattern);
        assert_eq!(patterns.collect::<Vec<_>>(), ["&lock_wake:{lock:*", "&lock_asked:{lock:*"]);
    }
}
