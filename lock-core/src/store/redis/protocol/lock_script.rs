//! A script as it is sent to a server.

use std::{ops::Deref, sync::LazyLock};

use redis::Script;

/// A script's name and its text as Redis gets it.
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

impl Deref for LockScript {
    type Target = Script;

    fn deref(&self) -> &Script {
        &self.plain
    }
}
