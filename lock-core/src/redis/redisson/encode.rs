//! Encodes commands for Redisson's wire: the script of each, with its keys and arguments.
//!
//! One file: it is one table, of a dozen scripts for each shape of lock.

use std::time::Duration;

use lock_store::{
    AcquireCommand, ConvertCommand, Holder, Kind, LeaveCommand, LockKey, Mode, OwnerId,
    ReleaseCommand, RenewCommand, TransferCommand, WakeTopic,
};
use redis::Script;

use super::{
    key_names::{self, LockNames},
    scripts,
};
use crate::{
    redis::protocol::{
        LockScript, NamePattern, REQUEST_TTL, ScriptCall, WAKE_NUMBERS, Wire, counter_name,
        slot_of, taken_channel,
    },
    types::SLOT_MARK,
};

/// How long a token outlives the last grant of its key.
const TOKEN_TTL: Duration = Duration::from_secs(60 * 60);
/// How much a waiter of Redisson adds to the deadlines in a fair line: its `fairLockWaitTimeout`.
const JAVA_FAIR_WAIT: Duration = Duration::from_secs(300);
/// The last arguments of a first try: the time that it has waited, that it yields, its hold, and
/// the tokens that it reserves. The scripts take these values for granted when they are missing.
const FIRST_ATTEMPT: [&str; 4] = ["0", "1", "1", "0"];

#[derive(Debug)]
pub(crate) struct RedissonWire {
    prefix: String,
    permanent_tokens: bool,
    in_cluster: bool,
}

impl RedissonWire {
    pub(crate) fn new(prefix: String, permanent_tokens: bool, in_cluster: bool) -> Self {
        Self { prefix, permanent_tokens, in_cluster }
    }

    pub(crate) fn names(&self, key: &LockKey) -> LockNames {
        LockNames::new(&self.prefix, key)
    }

    /// The native wire's counter of a lock's tokens.
    fn counter(&self, names: &LockNames) -> String {
        let slot = self.in_cluster.then(|| slot_of(names.lock.as_bytes()));
        counter_name(&self.prefix, slot)
    }

    fn token_ttl(&self, kind: Kind, key: &LockKey) -> Duration {
        // The keys of a job differ in each slot: permanent tokens would fill Redis.
        let is_slots = key.as_str().starts_with(SLOT_MARK);
        let permanent = (self.permanent_tokens || kind == Kind::Fenced) && !is_slots;
        if permanent { Duration::ZERO } else { TOKEN_TTL }
    }

    fn semaphore(&self, script: &'static LockScript, names: &LockNames) -> ScriptCall {
        ScriptCall::new(script)
            .key(&names.lock)
            .key(names.leases())
            .key(names.semaphore_channel())
            .key(names.waiters())
    }
}

impl Wire for RedissonWire {
    fn prefix(&self) -> &str {
        &self.prefix
    }

    fn lock_name(&self, key: &LockKey) -> String {
        self.names(key).lock
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
        let names = LockNames::probe(&self.prefix);
        any_kind(&scripts::INSPECT, &names).arg(&names.tag).flag(false)
    }

    fn inspect(&self, key: &LockKey, lists_waiters: bool) -> ScriptCall {
        let names = self.names(key);
        any_kind(&scripts::INSPECT, &names).arg(&names.tag).flag(lists_waiters)
    }

    fn acquire(&self, command: &AcquireCommand) -> ScriptCall {
        let (names, owner) = (self.names(&command.key), &command.owner);
        let (place, token_ttl) =
            (command.place.unwrap_or_default(), self.token_ttl(command.kind, &command.key));
        let takes = |call: ScriptCall| call.owner(owner).ms(command.lease).ms(token_ttl).ms(place);
        let more =
            |call: ScriptCall| call.ms(waited(command)).flag(command.yields).number(command.holds);
        match (command.kind, command.mode) {
            (Kind::ReadWrite, Mode::Read) => {
                let call = ScriptCall::new(&scripts::ACQUIRE_READ)
                    .key(&names.lock)
                    .key(names.waiters())
                    .key(names.token())
                    .key(names.reads(owner))
                    .key(names.channel())
                    .key(self.counter(&names));
                more(takes(call)).omit_trailing_defaults(&FIRST_ATTEMPT[..3])
            }
            (Kind::ReadWrite, Mode::Write) => {
                let call = ScriptCall::new(&scripts::ACQUIRE_WRITE)
                    .key(&names.lock)
                    .key(names.waiters())
                    .key(names.token())
                    .key(names.channel())
                    .key(self.counter(&names));
                more(takes(call))
                    .number(command.reserved_tokens)
                    .omit_trailing_defaults(&FIRST_ATTEMPT)
            }
            (Kind::FairReadWrite, mode) => {
                let call = ScriptCall::new(&scripts::FAIR_READ_WRITE_ACQUIRE)
                    .key(&names.lock)
                    .key(names.reads(owner))
                    .key(names.waiters())
                    .key(names.alive())
                    .key(names.token())
                    .key(names.turn())
                    .key(self.counter(&names));
                call.owner(owner)
                    .arg(mode.as_str())
                    .ms(command.lease)
                    .number(command.holds)
                    .ms(place)
                    .ms(token_ttl)
                    .arg(&names.tag)
            }
            (Kind::Reentrant | Kind::NonReentrant | Kind::Fenced, _) => {
                let call = ScriptCall::new(&scripts::EXCLUSIVE_ACQUIRE)
                    .key(&names.lock)
                    .key(names.waiters())
                    .key(names.token())
                    .key(names.lock_channel())
                    .key(self.counter(&names));
                more(takes(call))
                    .number(command.reserved_tokens)
                    .omit_trailing_defaults(&FIRST_ATTEMPT)
            }
            (Kind::Fair, _) => {
                let call = ScriptCall::new(&scripts::FAIR_ACQUIRE)
                    .key(&names.lock)
                    .key(names.queue())
                    .key(names.deadlines())
                    .key(names.alive())
                    .key(names.token())
                    .key(names.lock_channel())
                    .key(self.counter(&names));
                call.owner(owner)
                    .ms(command.lease)
                    .number(command.holds)
                    .ms(place)
                    .ms(JAVA_FAIR_WAIT)
                    .ms(token_ttl)
            }
            (Kind::Semaphore, _) => self
                .semaphore(&scripts::SEMAPHORE_ACQUIRE, &names)
                .arg(permit(owner))
                .ms(command.lease)
                .number(command.permits)
                .ms(place)
                .ms(waited(command))
                .number(command.wanted_permits)
                .omit_trailing_defaults(&["0", "0", "1"]),
        }
    }

    fn acquire_all(&self, commands: &[AcquireCommand]) -> ScriptCall {
        commands.iter().fold(ScriptCall::new(&scripts::ACQUIRE_ALL), |call, command| {
            let names = self.names(&command.key);
            let member = self.acquire(command);
            call.member(match command.kind {
                Kind::FairReadWrite => member.key(names.channel()),
                _ => member,
            })
        })
    }

    fn release(&self, command: &ReleaseCommand) -> ScriptCall {
        let Holder { kind, key, owner } = &command.holder;
        let names = self.names(key);
        let rest = |call: ScriptCall| call.owner(owner).number(command.holds).flag(command.in_line);
        let rest_by_default = |call: ScriptCall| {
            let mut call = rest(call.key(names.waiters())).omit_trailing_defaults(&["0", "0"]);
            // Without more arguments the fast path answers, which takes several locks. It leaves a lock of
            // which something is kept to a second command, which is never sent if the answer is lost.
            call.joinable = call.args.count() == 1 && !command.keeps_other_mode;
            call
        };
        match (kind, command.mode) {
            (Kind::ReadWrite, Mode::Read) => {
                let call = ScriptCall::new(&scripts::RELEASE_READ).key(&names.lock);
                rest_by_default(call.key(names.reads(owner)).key(names.channel()))
            }
            (Kind::ReadWrite, Mode::Write) => {
                let call = ScriptCall::new(&scripts::RELEASE_WRITE).key(&names.lock);
                rest_by_default(call.key(names.channel()))
            }
            (Kind::FairReadWrite, mode) => ScriptCall::new(&scripts::FAIR_READ_WRITE_RELEASE)
                .key(&names.lock)
                .key(names.reads(owner))
                .key(names.channel())
                .key(names.waiters())
                .key(names.alive())
                .key(names.turn())
                .owner(owner)
                .arg(mode.as_str())
                .number(command.holds)
                .flag(command.in_line),
            (Kind::Reentrant | Kind::NonReentrant | Kind::Fenced, _) => {
                let call = ScriptCall::new(&scripts::EXCLUSIVE_RELEASE).key(&names.lock);
                rest_by_default(call.key(names.lock_channel()))
            }
            (Kind::Fair, _) => {
                let call = ScriptCall::new(&scripts::FAIR_RELEASE)
                    .key(&names.lock)
                    .key(names.queue())
                    .key(names.deadlines())
                    .key(names.alive())
                    .key(names.lock_channel());
                rest(call)
            }
            (Kind::Semaphore, _) => self
                .semaphore(&scripts::SEMAPHORE_RELEASE, &names)
                .arg(permit(owner))
                .flag(command.in_line)
                .omit_trailing_defaults(&["0"]),
        }
    }

    fn leave(&self, command: &LeaveCommand) -> Option<ScriptCall> {
        let names = self.names(&command.key);
        Some(match command.kind {
            Kind::Fair => {
                let call = ScriptCall::new(&scripts::FAIR_LEAVE)
                    .key(&names.lock)
                    .key(names.queue())
                    .key(names.deadlines())
                    .key(names.alive())
                    .key(names.lock_channel());
                command.waiters.iter().fold(call, |call, (owner, _)| call.owner(owner))
            }
            Kind::FairReadWrite => {
                let call = ScriptCall::new(&scripts::FAIR_READ_WRITE_LEAVE)
                    .key(&names.lock)
                    .key(names.channel())
                    .key(names.waiters())
                    .key(names.alive())
                    .key(names.turn());
                let waiter = |call: ScriptCall, (owner, mode): &(OwnerId, Mode)| {
                    call.arg(format!("{}:{owner}", mode.as_str()))
                };
                command.waiters.iter().fold(call, waiter)
            }
            _ => return None,
        })
    }

    fn renew(&self, mode: Mode, commands: &[RenewCommand]) -> ScriptCall {
        let kind = commands.first().map_or(Kind::ReadWrite, |command| command.holder.kind);
        let mut call = match (kind, mode) {
            (Kind::ReadWrite, Mode::Read) => ScriptCall::new(&scripts::RENEW_READ),
            (Kind::ReadWrite, Mode::Write) => ScriptCall::new(&scripts::RENEW_WRITE),
            (Kind::FairReadWrite, mode) => {
                ScriptCall::new(&scripts::FAIR_READ_WRITE_RENEW).arg(mode.as_str())
            }
            (Kind::Reentrant | Kind::NonReentrant | Kind::Fenced | Kind::Fair, _) => {
                ScriptCall::new(&scripts::EXCLUSIVE_RENEW)
            }
            (Kind::Semaphore, _) => ScriptCall::new(&scripts::SEMAPHORE_RENEW),
        };
        for command in commands {
            let holder = &command.holder;
            let (names, owner) = (self.names(&holder.key), &holder.owner);
            call = match kind {
                Kind::Semaphore => call.key(names.leases()).arg(permit(owner)),
                Kind::ReadWrite => call.key(&names.lock).key(names.reads(owner)).owner(owner),
                Kind::FairReadWrite => {
                    call.key(&names.lock).key(names.reads(owner)).key(names.waiters()).owner(owner)
                }
                _ => call.key(&names.lock).owner(owner),
            };
            call = call.renewed(command);
        }
        call
    }

    fn upgrade(&self, command: &ConvertCommand) -> ScriptCall {
        let names = self.names(&command.holder.key);
        let fair = command.holder.kind == Kind::FairReadWrite;
        let call = ScriptCall::new(if fair {
            &scripts::FAIR_READ_WRITE_UPGRADE
        } else {
            &scripts::UPGRADE
        })
        .key(&names.lock)
        .key(names.reads(&command.holder.owner))
        .key(names.token());
        let call = if fair { call.key(names.waiters()) } else { call };
        let call = call.key(self.counter(&names));
        converted(call, command)
            .ms(self.token_ttl(command.holder.kind, &command.holder.key))
            .arg(&names.tag)
    }

    fn downgrade(&self, command: &ConvertCommand) -> ScriptCall {
        let names = self.names(&command.holder.key);
        let fair = command.holder.kind == Kind::FairReadWrite;
        let call = ScriptCall::new(if fair {
            &scripts::FAIR_READ_WRITE_DOWNGRADE
        } else {
            &scripts::DOWNGRADE
        })
        .key(&names.lock)
        .key(names.reads(&command.holder.owner))
        .key(names.channel());
        let call = call.key(names.waiters());
        let call = if fair { call.key(names.alive()).key(names.turn()) } else { call };
        converted(call, command)
    }

    fn transfer(&self, command: &TransferCommand) -> ScriptCall {
        let Holder { kind, key, owner } = &command.holder;
        let names = self.names(key);
        let field = |owner: &OwnerId, mode| match mode {
            Mode::Write if kind.has_readers() => format!("{owner}:write"),
            _ => owner.to_string(),
        };
        let other = match command.mode {
            _ if !kind.has_readers() => String::new(),
            Mode::Read => field(owner, Mode::Write),
            Mode::Write => field(owner, Mode::Read),
        };
        ScriptCall::new(&scripts::TRANSFER)
            .key(&names.lock)
            .key(names.reads(owner))
            .key(names.reads(&command.to))
            .arg(field(owner, command.mode))
            .arg(other)
            .arg(field(&command.to, command.mode))
            .flag(command.mode == Mode::Read)
    }

    fn channel(&self, topic: WakeTopic) -> (String, Option<u8>) {
        let number = wake_number(&topic);
        let holder = match topic {
            WakeTopic::Turn(holder) => holder,
            WakeTopic::ReleaseRequest(key) => return (self.names(&key).release_request(), None),
            WakeTopic::Taken(client) => return (taken_channel(&self.prefix, &client), None),
        };
        let names = self.names(&holder.key);
        let channel = match holder.kind {
            Kind::ReadWrite => names.channel(),
            Kind::FairReadWrite => LockNames::of_waiter(&names.turn(), &holder.owner),
            Kind::Fair => LockNames::of_waiter(&names.lock_channel(), &holder.owner),
            Kind::Semaphore => names.semaphore_channel(),
            Kind::Reentrant | Kind::NonReentrant | Kind::Fenced => names.lock_channel(),
        };
        (channel, number)
    }

    fn force_release(&self, key: &LockKey, if_held_by: &str) -> ScriptCall {
        let names = self.names(key);
        any_kind(&scripts::FORCE_RELEASE, &names)
            .key(names.lock_channel())
            .key(names.channel())
            .key(names.turn())
            .key(names.semaphore_channel())
            .key(self.counter(&names))
            .arg(&names.tag)
            .ms(self.token_ttl(Kind::ReadWrite, key))
            .arg(if_held_by)
            // The second time it would take the lock from the next holder.
            .non_idempotent()
    }

    fn request_release(&self, key: &LockKey, if_held_by: &str) -> ScriptCall {
        let names = self.names(key);
        ScriptCall::new(&scripts::REQUEST_RELEASE)
            .key(&names.lock)
            .key(names.release_request())
            .key(names.leases())
            .arg(&names.tag)
            .ms(REQUEST_TTL)
            .arg(if_held_by)
            // The second time it would send the request to the next holder.
            .non_idempotent()
    }

    fn release_requested(&self, holder: &Holder) -> ScriptCall {
        ScriptCall::new(&scripts::RELEASE_REQUESTED)
            .key(self.names(&holder.key).release_request())
            .owner(&holder.owner)
    }

    fn free_permits(&self, key: &LockKey, permits: u32) -> ScriptCall {
        self.semaphore(&scripts::SEMAPHORE_RESIZE, &self.names(key)).number(permits).flag(true)
    }

    fn set_permits(&self, key: &LockKey, permits: u32) -> Option<ScriptCall> {
        let call = self.semaphore(&scripts::SEMAPHORE_RESIZE, &self.names(key));
        Some(call.number(permits).flag(false))
    }
}

/// In whole milliseconds: zero for a command that is due at once, which a first try omits.
fn waited(command: &AcquireCommand) -> Duration {
    Duration::from_millis(u64::try_from(command.waited.as_millis()).unwrap_or(u64::MAX))
}

/// A call of a script that determines the kind of the lock itself.
fn any_kind(script: &'static LockScript, names: &LockNames) -> ScriptCall {
    ScriptCall::new(script)
        .key(&names.lock)
        .key(names.waiters())
        .key(names.queue())
        .key(names.deadlines())
        .key(names.alive())
        .key(names.token())
        .key(names.leases())
}

fn converted(call: ScriptCall, command: &ConvertCommand) -> ScriptCall {
    call.owner(&command.holder.owner)
        .ms(command.lease)
        .number(command.after.read)
        .number(command.after.write)
}

/// The number of a waiter among those that share a channel, so that each can be woken alone: a
/// message for one waiter has as many leading zeros as its owner's name encodes, see `lib/waiters`.
fn wake_number(topic: &WakeTopic) -> Option<u8> {
    let WakeTopic::Turn(holder) = topic else { return None };
    if holder.kind.is_fair() {
        return None;
    }
    let text = holder.owner.to_string();
    let permit = holder.owner.permit_bytes();
    let name = permit.map_or(text.as_bytes(), |permit| permit.as_slice());
    let ([first, ..], [.., tens, ones]) = (name, name) else { return None };
    let number = u32::from(*first) + 10 * u32::from(*tens) + u32::from(*ones);
    u8::try_from(number % WAKE_NUMBERS).ok()
}

/// A permit as Redisson stores it: the bytes of its hexadecimal digits.
fn permit(owner: &OwnerId) -> &[u8] {
    owner.permit_bytes().map_or(&[], |permit| permit.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_waiter_is_that_of_its_first_and_last_characters() {
        let turn = |kind, owner: &str| {
            let key = LockKey::try_from("k").expect("a key");
            let owner = OwnerId::parse(owner).expect("an owner");
            wake_number(&WakeTopic::Turn(Holder { kind, key, owner }))
        };
        // a = 97, 1 = 49, 5 = 53: 97 + 490 + 53 = 20 * 32.
        assert_eq!(turn(Kind::ReadWrite, "abc:15"), Some(0));
        assert_eq!(turn(Kind::ReadWrite, "abc:14"), Some(31));
        assert_eq!(turn(Kind::Reentrant, "bbc:15"), Some(1));
        assert_eq!(turn(Kind::Fair, "abc:15"), None);
    }

    #[test]
    fn each_kind_of_channel_needs_its_right() {
        let wire = RedissonWire::new("lock:".to_owned(), false, false);
        let patterns = wire.channel_patterns().into_iter().map(|sort| sort.pattern);
        let patterns: Vec<_> = patterns.collect();
        assert_eq!(patterns.len(), 5, "{patterns:?}");
        assert!(
            patterns.iter().all(|it| it.starts_with('&') && it.contains("{lock:*")),
            "{patterns:?}"
        );
    }
}
