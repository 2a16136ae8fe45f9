//! The Lua scripts: one file each, composed with the shared functions and the scripts they use.
//!
//! A composed text has, in this order: whether releases are published on shard channels, the fast
//! path, the shared functions, the other scripts it calls, each as a function of its own keys and
//! arguments, and the script. The fast path answers the most frequent calls before any function is
//! defined.

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

macro_rules! composed {
    ($sharded:literal $path:literal $(quick [$($quick:literal)+])? [$($shared:literal)*]
        [$($folder:literal / $verb:literal)*]) => {
        concat!(
            "local SHARDED = ", $sharded, "\n\n",
            $("do\n", $(include_str!(concat!("../scripts/quick/", $quick, ".lua")),)+ "end\n\n",)?
            $(include_str!(concat!("../scripts/shared/", $shared, ".lua")),)*
            $(
                "local function ", $folder, "_", $verb, "(KEYS, ARGV)\n",
                include_str!(concat!("../scripts/", $folder, "/", $verb, ".lua")),
                "end\n\n",
            )*
            include_str!(concat!("../scripts/", $path, ".lua")),
        )
    };
}

macro_rules! scripts {
    ($(
        $name:ident = $path:literal $(quick $($quick:literal)+)? $(with $($shared:literal)+)?
        $(calling $($folder:literal / $verb:literal)*)?;
    )*) => {
        $(
            pub(crate) static $name: LockScript = LockScript {
                name: $path,
                plain: LazyLock::new(|| Script::new(plain::$name)),
                sharded: LazyLock::new(|| Script::new(sharded::$name)),
            };
        )*

        mod plain {
            $(pub(crate) const $name: &str =
                composed!("false" $path $(quick [$($quick)+])? [$($($shared)+)?] [$($($folder / $verb)*)?]);)*
        }

        mod sharded {
            $(pub(crate) const $name: &str =
                composed!("true" $path $(quick [$($quick)+])? [$($($shared)+)?] [$($($folder / $verb)*)?]);)*
        }

        /// Every script for a single server, for tests of single scripts.
        #[cfg(feature = "test-util")]
        pub const SCRIPTS: &[ScriptText] = &[$(ScriptText { name: $path, text: plain::$name },)*];

        /// Every script, in the form for a cluster that has shard channels.
        #[cfg(feature = "test-util")]
        pub const SHARDED_SCRIPTS: &[ScriptText] =
            &[$(ScriptText { name: $path, text: sharded::$name },)*];

        /// Every script, to be loaded into a server.
        pub(crate) fn all() -> Vec<&'static Script> {
            vec![$(&*$name,)*]
        }

        /// Every script, to be loaded into a cluster that has shard channels.
        pub(crate) fn all_sharded() -> Vec<&'static Script> {
            vec![$($name.sharded(),)*]
        }
    };
}

scripts! {
    ACQUIRE_READ = "read_write/acquire_read" quick "token" "acquire_read"
        with "whole" "end_in" "fields" "clock" "tell" "next_token" "waiters" "hold_reads";
    ACQUIRE_WRITE = "read_write/acquire_write" quick "token" "acquire_write"
        with "whole" "end_in" "fields" "clock" "tell" "next_token" "waiters" "readers" "hold_reads" "tag";
    RENEW_READ = "read_write/renew_read" with "whole" "renewed";
    RENEW_WRITE = "read_write/renew_write" with "whole" "renewed" "hold_reads";
    RELEASE_READ = "read_write/release_read" quick "release_read"
        with "whole" "clock" "tell" "waiters" "readers" "tag";
    RELEASE_WRITE = "read_write/release_write" quick "release_write"
        with "whole" "clock" "tell" "waiters" "tag";
    UPGRADE = "read_write/upgrade" with "whole" "clock" "next_token" "readers" "hold_reads";
    DOWNGRADE = "read_write/downgrade" with "whole" "clock" "tell" "waiters" "hold_reads";
    LOCK_ACQUIRE = "lock/acquire" quick "token" "acquire"
        with "whole" "end_in" "clock" "tell" "next_token" "waiters" "sole";
    LOCK_RELEASE = "lock/release" quick "release"
        with "whole" "clock" "tell" "waiters" "sole";
    LOCK_RENEW = "lock/renew" with "whole" "renewed";
    FAIR_READ_WRITE_ACQUIRE = "fair_read_write/acquire"
        with "whole" "end_in" "fields" "clock" "tell" "next_token" "waiters" "readers" "hold_reads" "tag" "line" "ours" "held_by_ours"
        calling "read_write"/"acquire_read" "read_write"/"acquire_write";
    FAIR_READ_WRITE_RELEASE = "fair_read_write/release"
        with "whole" "end_in" "clock" "tell" "waiters" "readers" "tag" "line" "turns"
        calling "read_write"/"release_read" "read_write"/"release_write";
    FAIR_READ_WRITE_LEAVE = "fair_read_write/leave"
        with "whole" "end_in" "clock" "tell" "waiters" "readers" "tag" "line" "turns"
        calling "read_write"/"release_read" "read_write"/"release_write";
    FAIR_READ_WRITE_UPGRADE = "fair_read_write/upgrade"
        with "whole" "end_in" "clock" "tell" "next_token" "readers" "hold_reads" "line"
        calling "read_write"/"upgrade";
    FAIR_READ_WRITE_DOWNGRADE = "fair_read_write/downgrade"
        with "whole" "end_in" "clock" "tell" "waiters" "hold_reads" "line" "turns"
        calling "read_write"/"downgrade";
    FAIR_READ_WRITE_RENEW = "fair_read_write/renew"
        with "whole" "end_in" "clock" "renewed" "tell" "hold_reads" "line"
        calling "read_write"/"renew_read" "read_write"/"renew_write";
    FAIR_ACQUIRE = "fair/acquire" with "whole" "end_in" "clock" "next_token" "tell" "sole" "ours" "queue";
    FAIR_RELEASE = "fair/release" with "whole" "end_in" "clock" "tell" "sole" "ours" "queue";
    FAIR_LEAVE = "fair/leave" with "whole" "end_in" "clock" "tell" "sole" "ours" "queue";
    SEMAPHORE_ACQUIRE = "semaphore/acquire" with "whole" "end_in" "clock" "tell" "waiters" "permits";
    SEMAPHORE_RELEASE = "semaphore/release" with "whole" "clock" "tell" "waiters" "permits";
    SEMAPHORE_RENEW = "semaphore/renew" with "whole" "clock" "renewed";
    SEMAPHORE_RESIZE = "semaphore/resize" with "whole" "clock" "tell" "waiters" "permits";
    ACQUIRE_ALL = "any/acquire_all"
        with "whole" "end_in" "fields" "clock" "tell" "next_token" "waiters" "readers" "hold_reads" "tag" "sole" "ours" "queue"
            "permits" "line" "turns" "held_by_ours"
        calling "read_write"/"acquire_read" "read_write"/"release_read"
            "read_write"/"acquire_write" "read_write"/"release_write"
            "lock"/"acquire" "lock"/"release"
            "fair"/"acquire" "fair"/"release"
            "fair_read_write"/"acquire" "fair_read_write"/"release"
            "semaphore"/"acquire" "semaphore"/"release";
    INSPECT = "any/inspect" with "whole" "end_in" "clock" "tell" "next_token" "waiters" "sole" "ours" "queue" "line" "readers" "permits" "holders";
    FORCE_RELEASE = "any/force_release" with "whole" "end_in" "clock" "tell" "next_token" "waiters" "sole" "ours" "queue" "line" "turns" "readers" "permits" "holders";
    REQUEST_RELEASE = "any/request_release" with "whole" "end_in" "clock" "tell" "sole" "readers" "permits" "holders";
    ASKED = "any/asked";
    MISSING_RIGHTS = "any/missing_rights" with "tell";
}
