//! The native wire as the store uses it: one call for each command.

use lock_store::{
    AcquireCommand, ConvertCommand, FencingToken, Holder, LeaveCommand, LockKey, Mode,
    ReleaseCommand, RenewCommand, TransferCommand, WakeTopic,
};
use redis::Script;

use super::encode::{NativeWire, letter, wake_number, whole};
use super::{key_names, scripts};
use crate::redis::protocol::{
    LockScript, NamePattern, REQUEST_TTL, ScriptCall, Wire, taken_channel,
};

impl Wire for NativeWire {
    fn prefix(&self) -> &str {
        &self.prefix
    }

    fn lock_name(&self, key: &LockKey) -> String {
        key_names::lock(&self.prefix, key)
    }

    fn key_of(&self, name: &str) -> Option<LockKey> {
        key_names::key_of(&self.prefix, name)
    }

    fn scripts(&self, sharded: bool) -> Vec<&'static Script> {
        if sharded { scripts::all_sharded() } else { scripts::all() }
    }

    fn missing_rights(&self) -> &'static LockScript {
        &scripts::MISSING_RIGHTS
    }

    fn listed_commands(&self) -> &'static str {
        include_str!("scripts/lib/commands.lua")
    }

    fn key_patterns(&self) -> Vec<NamePattern> {
        key_names::key_patterns(&self.prefix)
    }

    fn channel_patterns(&self) -> Vec<NamePattern> {
        key_names::channel_patterns(&self.prefix)
    }

    fn probe(&self) -> ScriptCall {
        let lock = format!("{}probe", self.prefix);
        let counter = self.counter_name(self.slot(&lock).unwrap_or(0));
        whole(ScriptCall::new(&scripts::INSPECT), &lock).key(&*counter)
    }

    fn acquire(&self, command: &AcquireCommand) -> ScriptCall {
        self.acquired(ScriptCall::new(&scripts::ACQUIRE), command)
    }

    fn acquire_all(&self, commands: &[AcquireCommand]) -> ScriptCall {
        let call = ScriptCall::new(&scripts::ACQUIRE_ALL);
        commands.iter().fold(call, |call, command| self.acquired(call, command))
    }

    fn granted(&self, key: &LockKey, token: FencingToken, more: u32) {
        self.counter(self.slot_of(key)).granted(token, more);
    }

    fn release(&self, command: &ReleaseCommand) -> ScriptCall {
        self.release_all(std::iter::once(command))
    }

    fn leave(&self, command: &LeaveCommand) -> Option<ScriptCall> {
        Some(self.leave_line(command))
    }

    fn renew(&self, mode: Mode, commands: &[RenewCommand]) -> ScriptCall {
        commands.iter().fold(ScriptCall::new(&scripts::RENEW), |call, command| {
            call.key(self.lock_name(&command.holder.key))
                .arg(self.owner(&command.holder.owner))
                .arg(letter(command.holder.kind))
                .arg(mode.as_str())
                .renewed(command)
        })
    }

    fn upgrade(&self, command: &ConvertCommand) -> ScriptCall {
        self.convert(command, Mode::Write)
    }

    fn downgrade(&self, command: &ConvertCommand) -> ScriptCall {
        self.convert(command, Mode::Read)
    }

    fn transfer(&self, command: &TransferCommand) -> ScriptCall {
        let Holder { kind, key, owner } = &command.holder;
        self.locked(ScriptCall::new(&scripts::TRANSFER), key)
            .arg(self.owner(owner))
            .arg(letter(*kind))
            .arg(command.mode.as_str())
            .arg(self.owner(&command.to))
    }

    fn free_permits(&self, key: &LockKey, _permits: u32) -> ScriptCall {
        self.locked(ScriptCall::new(&scripts::COUNT_PERMITS), key)
    }

    fn channel(&self, topic: WakeTopic) -> (String, Option<u8>) {
        match topic {
            WakeTopic::ReleaseRequest(key) => {
                (key_names::release_request(&self.lock_name(&key)), None)
            }
            WakeTopic::Taken(client) => (taken_channel(&self.prefix, &client), None),
            WakeTopic::Turn(holder) => {
                let channel = key_names::wake(&self.lock_name(&holder.key), self.client.as_str());
                (channel, wake_number(&self.owner(&holder.owner)))
            }
        }
    }

    fn inspect(&self, key: &LockKey, lists_waiters: bool) -> ScriptCall {
        let call = self.counted(ScriptCall::new(&scripts::INSPECT), key).0;
        call.flag(self.beside_set_nx).flag(lists_waiters)
    }

    fn force_release(&self, key: &LockKey, if_held_by: &str) -> ScriptCall {
        let (call, known) = self.counted(ScriptCall::new(&scripts::FORCE_RELEASE), key);
        // The second time it would take the lock from the next holder.
        call.number(known).flag(self.beside_set_nx).arg(if_held_by).non_idempotent()
    }

    fn request_release(&self, key: &LockKey, if_held_by: &str) -> ScriptCall {
        let requested = key_names::release_request(&self.lock_name(key));
        // The second time it would send the request to the next holder.
        self.locked(ScriptCall::new(&scripts::REQUEST_RELEASE), key)
            .key(requested)
            .ms(REQUEST_TTL)
            .arg(if_held_by)
            .non_idempotent()
    }

    fn release_requested(&self, holder: &Holder) -> ScriptCall {
        ScriptCall::new(&scripts::RELEASE_REQUESTED)
            .key(key_names::release_request(&self.lock_name(&holder.key)))
            .arg(self.owner(&holder.owner))
    }
}
