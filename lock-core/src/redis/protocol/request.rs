//! Requests to a server, the scripts that they call, and how they are sent.

use std::{ops::Deref, sync::LazyLock, time::Duration};

use lock_store::{OwnerId, RenewCommand};
use redis::{Cmd, Script};
use tokio::time::Instant;

use super::packed::{ArgBuffer, Decimal, Packed};

/// A request that is sent over a connection.
pub(crate) enum Request<'a> {
    Command(&'a Cmd),
    Script(&'a ScriptCall),
}

impl Request<'_> {
    /// Whether it must not be sent again after it may have been executed.
    pub(crate) fn non_idempotent(&self) -> bool {
        matches!(self, Request::Script(call) if call.non_idempotent)
    }
}

/// A call of a script. The server determines which form of the script is called.
pub(crate) struct ScriptCall {
    pub(crate) script: &'static LockScript,
    pub(crate) keys: ArgBuffer,
    /// The first argument of every script, which its answer carries.
    pub(crate) nonce: String,
    pub(crate) args: ArgBuffer,
    /// Not to be sent again after it may have been executed.
    pub(crate) non_idempotent: bool,
    /// Calls of this script can be joined.
    pub(crate) joinable: bool,
}

impl ScriptCall {
    pub(crate) fn new(script: &'static LockScript) -> Self {
        let (keys, args) = (ArgBuffer::default(), ArgBuffer::default());
        Self { script, keys, nonce: String::new(), args, non_idempotent: false, joinable: false }
    }

    pub(crate) fn non_idempotent(mut self) -> Self {
        self.non_idempotent = true;
        self
    }

    pub(crate) fn key(mut self, key: impl AsRef<str>) -> Self {
        self.keys.push(key.as_ref().as_bytes());
        self
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<[u8]>) -> Self {
        self.args.push(arg.as_ref());
        self
    }

    /// Adds a key that consists of these parts.
    pub(crate) fn joined_key(mut self, parts: &[&[u8]]) -> Self {
        self.keys.push_joined(parts);
        self
    }

    /// Adds an argument that consists of these parts.
    pub(crate) fn joined_arg(mut self, parts: &[&[u8]]) -> Self {
        self.args.push_joined(parts);
        self
    }

    pub(crate) fn owner(mut self, owner: &OwnerId) -> Self {
        match owner.numbered() {
            Some((client, number)) => {
                let number = Decimal::of(number);
                self.args.push_joined(&[client.as_bytes(), b":", number.as_ref()]);
            }
            None => self.args.push(owner.to_string().as_bytes()),
        }
        self
    }

    pub(crate) fn number(mut self, number: impl Into<u64>) -> Self {
        self.args.push_number(number.into());
        self
    }

    pub(crate) fn flag(self, flag: bool) -> Self {
        self.arg(if flag { "1" } else { "0" })
    }

    /// Adds milliseconds, rounded up: a lease is never shorter than requested.
    pub(crate) fn ms(self, span: Duration) -> Self {
        let ms = span.as_nanos().div_ceil(1_000_000);
        self.number(u64::try_from(ms).unwrap_or(u64::MAX))
    }

    /// Adds the lease of a renewal: see `lib/renewed`.
    pub(crate) fn renewed(self, RenewCommand { lease, exactly, .. }: &RenewCommand) -> Self {
        if !exactly {
            return self.ms(*lease);
        }
        self.arg(format!("={}", lease.as_nanos().div_ceil(1_000_000)))
    }

    /// Removes trailing arguments that equal the defaults of the script.
    pub(crate) fn omit_trailing_defaults(mut self, granted: &[&str]) -> Self {
        self.args.trim(granted);
        self
    }

    /// Adds another call as a part of this one, which acquires several locks.
    pub(crate) fn member(mut self, member: Self) -> Self {
        self.args.push(member.script.name.as_bytes());
        self.args.push_number(member.keys.count() as u64);
        self.args.push_number(member.args.count() as u64);
        self.keys.append(&member.keys);
        self.args.append(&member.args);
        self
    }

    /// Adds the keys and arguments of another call of this script.
    pub(crate) fn join(&mut self, other: &Self) {
        self.keys.append(&other.keys);
        self.args.append(&other.args);
    }

    /// The key that determines where in a cluster the script runs.
    pub(crate) fn first_key(&self) -> &[u8] {
        self.keys.iter().next().unwrap_or_default()
    }

    pub(crate) fn script(&self, sharded: bool) -> &Script {
        if sharded { self.script.sharded() } else { self.script }
    }

    pub(crate) fn packed(&self, sharded: bool) -> Packed {
        let (keys, args) = (&self.keys, &self.args);
        // Beside the texts there are the script's hash and a few lengths.
        let bytes = 96 + self.nonce.len() + keys.packed().len() + args.packed().len();
        let mut command = Packed::with_capacity(bytes);
        command.command(4 + keys.count() + args.count());
        command.arg("EVALSHA").arg(self.script(sharded).get_hash()).number(keys.count() as u64);
        command.args(keys).arg(&self.nonce).args(args);
        command
    }
}

/// How many replicas must have the write, and how long they may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replicas {
    pub(crate) count: u32,
    pub(crate) timeout: Duration,
}

/// How a request is sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SendOptions {
    /// To a node that is taking over the slot.
    pub(crate) asking: bool,
    /// Waits until replicas have the write.
    pub(crate) replicas: Option<Replicas>,
    /// When the request was sent, if the connection ends it once the command timeout is over.
    pub(crate) sent: Option<Instant>,
}

impl SendOptions {
    /// The command together with the commands that must surround it, in one write.
    pub(crate) fn around(self, command: &Packed) -> Option<Packed> {
        if !self.asking && self.replicas.is_none() {
            return None;
        }
        let mut commands = Packed::default();
        if self.asking {
            commands.command(1).arg("ASKING");
        }
        commands.append(command);
        if let Some(replicas) = self.replicas {
            // Rounded up: 0 would mean forever.
            let timeout = replicas.timeout.as_nanos().div_ceil(1_000_000);
            let timeout = u64::try_from(timeout).unwrap_or(u64::MAX);
            commands.command(3).arg("WAIT").number(replicas.count.into()).number(timeout);
        }
        Some(commands)
    }
}

/// A script's name and its text, with the comments that are not sent.
#[cfg(feature = "test-util")]
#[derive(Debug, Clone, Copy)]
pub struct ScriptText {
    /// Folder and file, as in `read_write/acquire_read`.
    pub name: &'static str,
    /// The composed text.
    pub text: &'static str,
}

/// One script in both its forms; derefs to the one for a single server.
pub(crate) struct LockScript {
    /// Folder and file.
    pub(crate) name: &'static str,
    plain: LazyLock<Script>,
    sharded: LazyLock<Script>,
}

impl LockScript {
    pub(crate) const fn new(
        name: &'static str,
        plain: fn() -> Script,
        sharded: fn() -> Script,
    ) -> Self {
        Self { name, plain: LazyLock::new(plain), sharded: LazyLock::new(sharded) }
    }

    /// The form for a cluster that has shard channels: Redis 7 and later.
    pub(crate) fn sharded(&self) -> &Script {
        &self.sharded
    }
}

/// A script as it is sent: without comments and indentation.
pub(crate) fn script(text: &str) -> Script {
    Script::new(&without_comments(text))
}

/// The text of a script as it is sent. A comment of the scripts has its lines for itself: to find the
/// end of code, this would have to know Lua's strings.
pub(crate) fn without_comments(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

impl Deref for LockScript {
    type Target = Script;

    fn deref(&self) -> &Script {
        &self.plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_below_a_millisecond_is_not_for_ever() {
        let replicas = Replicas { count: 1, timeout: Duration::from_micros(300) };
        let options = SendOptions { replicas: Some(replicas), ..SendOptions::default() };
        let sent = options.around(&(&redis::cmd("PING")).into()).expect("more than the command");
        let sent = String::from_utf8(sent.bytes).expect("text");
        assert!(sent.ends_with("$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n1\r\n"), "{sent:?}");
    }

    #[test]
    fn a_script_is_sent_without_comments_and_as_it_is_otherwise() {
        let text = "-- x: y\n\nlocal a = '--'\n  -- z\n  return a .. [[ -- ]]\n";
        assert_eq!(without_comments(text), "local a = '--'\nreturn a .. [[ -- ]]");
    }

    #[test]
    fn asking_is_sent_before_a_command_for_a_slot_that_is_taken_over() {
        let ping = Packed::from(&redis::cmd("PING"));
        assert!(SendOptions::default().around(&ping).is_none());
        let asking = SendOptions { asking: true, ..SendOptions::default() };
        let sent = asking.around(&ping).expect("more than the command");
        assert_eq!(
            (sent.count, &*sent.bytes),
            (2, &b"*1\r\n$6\r\nASKING\r\n*1\r\n$4\r\nPING\r\n"[..])
        );
    }
}
