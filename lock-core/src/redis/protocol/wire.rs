use std::{fmt, time::Duration};

use lock_store::{
    AcquireCommand, ConvertCommand, FencingToken, Holder, LeaveCommand, LockKey, Mode,
    ReleaseCommand, RenewCommand, TransferCommand, WakeTopic,
};
use redis::Script;

use super::{
    name_pattern::NamePattern,
    request::{LockScript, ScriptCall},
};

/// How long a request to release lasts at least, however short the lease is: a holder that listens
/// but has missed the message polls every three seconds.
pub(crate) const REQUEST_TTL: Duration = Duration::from_secs(6);

/// How locks are stored in Redis: the names of their keys, the scripts, and the script call of each
/// command.
pub(crate) trait Wire: fmt::Debug + Send + Sync {
    /// The prefix of all locks' names.
    fn prefix(&self) -> &str;
    /// The name of a lock's key, which determines its slot.
    fn lock_name(&self, key: &LockKey) -> String;
    /// The key whose lock has this name, if it is the name of a lock of a client with this prefix.
    fn key_of(&self, name: &str) -> Option<LockKey>;

    /// Every script, to be loaded into a server.
    fn scripts(&self, sharded: bool) -> Vec<&'static Script>;
    /// The script that finds out which rights the user lacks.
    fn missing_rights(&self) -> &'static LockScript;
    /// The Lua that lists the commands of the scripts: each begins with `{'` and its name.
    fn listed_commands(&self) -> &'static str;
    /// Every right that the scripts need, as `ACL SETUSER` takes them.
    fn rights(&self) -> Vec<String> {
        let listed = self.listed_commands().split("{'").skip(1);
        let listed = listed.filter_map(|rest| rest.split_once('\'')).map(|(command, _)| command);
        let commands =
            ["evalsha", "script|load", "script|exists", "publish"].into_iter().chain(listed);
        let mut rights: Vec<_> = commands.map(|command| format!("+{command}")).collect();
        for NamePattern { pattern, .. } in
            self.key_patterns().into_iter().chain(self.channel_patterns())
        {
            // Several kinds of names can share one.
            if !rights.contains(&pattern) {
                rights.push(pattern);
            }
        }
        rights
    }
    /// Every kind of key; the locks themselves come first.
    fn key_patterns(&self) -> Vec<NamePattern>;
    /// Every kind of channel.
    fn channel_patterns(&self) -> Vec<NamePattern>;
    /// Inspects a lock that is never acquired: shows whether scripts run.
    fn probe(&self) -> ScriptCall;

    fn acquire(&self, command: &AcquireCommand) -> ScriptCall;
    /// All or none of them, in one script.
    fn acquire_all(&self, commands: &[AcquireCommand]) -> ScriptCall;
    /// A token was granted, with `more` tokens in reserve after it.
    fn granted(&self, key: &LockKey, token: FencingToken, more: u32) {
        let _ = (key, token, more);
    }
    fn release(&self, command: &ReleaseCommand) -> ScriptCall;
    /// All waiters in one script; `None` for the kinds that have no such script.
    fn leave(&self, command: &LeaveCommand) -> Option<ScriptCall>;
    /// All commands are of one kind and mode.
    fn renew(&self, mode: Mode, commands: &[RenewCommand]) -> ScriptCall;
    fn upgrade(&self, command: &ConvertCommand) -> ScriptCall;
    fn downgrade(&self, command: &ConvertCommand) -> ScriptCall;
    fn transfer(&self, command: &TransferCommand) -> ScriptCall;
    fn free_permits(&self, key: &LockKey, permits: u32) -> ScriptCall;
    /// `None` where the number of permits is each client's own.
    fn set_permits(&self, key: &LockKey, permits: u32) -> Option<ScriptCall> {
        let _ = (key, permits);
        None
    }

    /// The channel of a topic, and the number of a waiter among those that share the channel.
    fn channel(&self, topic: WakeTopic) -> (String, Option<u8>);

    /// Inspects a key, whatever kind of lock it is.
    fn inspect(&self, key: &LockKey, lists_waiters: bool) -> ScriptCall;
    fn force_release(&self, key: &LockKey, if_held_by: &str) -> ScriptCall;
    fn request_release(&self, key: &LockKey, if_held_by: &str) -> ScriptCall;
    fn release_requested(&self, holder: &Holder) -> ScriptCall;
}
