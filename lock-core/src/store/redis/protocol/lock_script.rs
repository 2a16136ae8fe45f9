//! A script as it is sent to a server.

use std::{ops::Deref, sync::LazyLock};

use redis::Script;

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

/// A script without comments and indentation. Every new connection loads all scripts: over a slow link, the
/// whole texts would take longer than a connection may take.
pub(crate) fn script(text: &str) -> Script {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("--"));
    Script::new(&lines.collect::<Vec<_>>().join("\n"))
}

impl Deref for LockScript {
    type Target = Script;

    fn deref(&self) -> &Script {
        &self.plain
    }
}
