//! The Lua scripts of Redisson's wire: one file each, composed with the shared functions and the scripts they use.
//!
//! A composed text has, in this order: whether releases are published on shard channels, the fast
//! path, the shared functions, the scripts that it calls, and the script itself. Each called script
//! is a function with its own keys and arguments. The fast path answers the most frequent calls
//! before any function is defined.

use redis::Script;

#[cfg(feature = "test-util")]
use crate::redis::protocol::ScriptText;
use crate::redis::protocol::{LockScript, script};

macro_rules! composed {
    ($sharded:literal [$($root:literal)?] $path:literal $(fast_path [$($fast:literal)+])? [$($shared:literal)*] [$($lib:literal)*]
        [$($folder:literal / $verb:literal)*]) => {
        concat!(
            "local SHARDED = ", $sharded, "\n\n",
            $("do\n", $(include_str!(concat!("scripts/fast_path/", $fast, ".lua")),)+ "end\n\n",)?
            $(include_str!(concat!("../scripts/lib/", $shared, ".lua")),)*
            $(include_str!(concat!("scripts/lib/", $lib, ".lua")),)*
            $(
                "local function ", $folder, "_", $verb, "(KEYS, ARGV)\n",
                include_str!(concat!("scripts/", $folder, "/", $verb, ".lua")),
                "end\n\n",
            )*
            include_str!(concat!($($root,)? "scripts/", $path, ".lua")),
        )
    };
}

macro_rules! scripts {
    ($(
        $name:ident = $path:literal $(in $root:literal)? $(fast_path $($fast:literal)+)?
        $(sharing $($shared:literal)+)?
        $(with $($lib:literal)+)? $(calling $($folder:literal / $verb:literal)*)?;
    )*) => {
        $(
            pub(crate) static $name: LockScript = LockScript::new(
                $path,
                || script(plain::$name),
                || script(sharded::$name),
            );
        )*

        mod plain {
            $(pub(crate) const $name: &str =
                composed!("false" [$($root)?] $path $(fast_path [$($fast)+])? [$($($shared)+)?] [$($($lib)+)?] [$($($folder / $verb)*)?]);)*
        }

        mod sharded {
            $(pub(crate) const $name: &str =
                composed!("true" [$($root)?] $path $(fast_path [$($fast)+])? [$($($shared)+)?] [$($($lib)+)?] [$($($folder / $verb)*)?]);)*
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
    ACQUIRE_READ = "read_write/acquire_read" fast_path "token" "acquire_read"
        sharing "parse_int" "clock" "pause" with "set_ttl" "fields" "publish" "next_token" "waiters" "native" "hold_reads";
    ACQUIRE_WRITE = "read_write/acquire_write" fast_path "token" "acquire_write"
        sharing "parse_int" "clock" "pause" with "set_ttl" "fields" "publish" "next_token" "waiters" "native" "readers" "hold_reads" "tag";
    RENEW_READ = "read_write/renew_read" sharing "parse_int" "renewed";
    RENEW_WRITE = "read_write/renew_write" sharing "parse_int" "renewed" with "hold_reads";
    RELEASE_READ = "read_write/release_read" fast_path "release_read"
        sharing "parse_int" "clock" with "publish" "waiters" "readers" "tag";
    RELEASE_WRITE = "read_write/release_write" fast_path "release_write"
        sharing "parse_int" "clock" with "publish" "waiters" "tag";
    UPGRADE = "read_write/upgrade" sharing "parse_int" "clock" with "next_token" "readers" "hold_reads";
    DOWNGRADE = "read_write/downgrade" sharing "parse_int" "clock" with "publish" "waiters" "hold_reads";
    EXCLUSIVE_ACQUIRE = "exclusive/acquire" fast_path "token" "acquire"
        sharing "parse_int" "clock" "pause" with "set_ttl" "publish" "next_token" "waiters" "native" "exclusive";
    EXCLUSIVE_RELEASE = "exclusive/release" fast_path "release"
        sharing "parse_int" "clock" with "publish" "waiters" "exclusive";
    EXCLUSIVE_RENEW = "exclusive/renew" sharing "parse_int" "renewed";
    FAIR_READ_WRITE_ACQUIRE = "fair_read_write/acquire"
        sharing "parse_int" "clock" "pause" with "set_ttl" "fields" "publish" "next_token" "waiters" "native" "readers" "hold_reads" "tag" "fair_read_write_queue" "own_client" "held_by_own_client"
        calling "read_write"/"acquire_read" "read_write"/"acquire_write";
    FAIR_READ_WRITE_RELEASE = "fair_read_write/release"
        sharing "parse_int" "clock" with "set_ttl" "publish" "waiters" "readers" "tag" "fair_read_write_queue" "wake_next"
        calling "read_write"/"release_read" "read_write"/"release_write";
    FAIR_READ_WRITE_LEAVE = "fair_read_write/leave"
        sharing "parse_int" "clock" with "set_ttl" "publish" "waiters" "readers" "tag" "fair_read_write_queue" "wake_next"
        calling "read_write"/"release_read" "read_write"/"release_write";
    FAIR_READ_WRITE_UPGRADE = "fair_read_write/upgrade"
        sharing "parse_int" "clock" with "set_ttl" "publish" "next_token" "readers" "hold_reads" "fair_read_write_queue"
        calling "read_write"/"upgrade";
    FAIR_READ_WRITE_DOWNGRADE = "fair_read_write/downgrade"
        sharing "parse_int" "clock" with "set_ttl" "publish" "waiters" "hold_reads" "fair_read_write_queue" "wake_next"
        calling "read_write"/"downgrade";
    FAIR_READ_WRITE_RENEW = "fair_read_write/renew"
        sharing "parse_int" "clock" "renewed" with "set_ttl" "publish" "hold_reads" "fair_read_write_queue"
        calling "read_write"/"renew_read" "read_write"/"renew_write";
    FAIR_ACQUIRE = "fair/acquire" sharing "parse_int" "clock" "pause" with "set_ttl" "next_token" "publish" "waiters" "native" "exclusive" "own_client" "fair_lock_queue";
    FAIR_RELEASE = "fair/release" sharing "parse_int" "clock" with "set_ttl" "publish" "exclusive" "own_client" "fair_lock_queue";
    FAIR_LEAVE = "fair/leave" sharing "parse_int" "clock" with "set_ttl" "publish" "exclusive" "own_client" "fair_lock_queue";
    SEMAPHORE_ACQUIRE = "semaphore/acquire" sharing "parse_int" "clock" with "set_ttl" "publish" "waiters" "permits";
    SEMAPHORE_RELEASE = "semaphore/release" sharing "parse_int" "clock" with "publish" "waiters" "permits";
    SEMAPHORE_RENEW = "semaphore/renew" sharing "parse_int" "clock" "renewed" with "permits";
    SEMAPHORE_RESIZE = "semaphore/resize" sharing "parse_int" "clock" with "publish" "waiters" "permits";
    ACQUIRE_ALL = "common/acquire_all"
        sharing "parse_int" "clock" "pause" with "set_ttl" "fields" "publish" "next_token" "waiters" "native" "readers" "hold_reads" "tag" "exclusive" "own_client" "fair_lock_queue" "permits" "fair_read_write_queue" "wake_next" "held_by_own_client"
        calling "read_write"/"acquire_read" "read_write"/"release_read"
            "read_write"/"acquire_write" "read_write"/"release_write"
            "exclusive"/"acquire" "exclusive"/"release"
            "fair"/"acquire" "fair"/"release"
            "fair_read_write"/"acquire" "fair_read_write"/"release"
            "semaphore"/"acquire" "semaphore"/"release";
    TRANSFER = "common/transfer";
    INSPECT = "common/inspect" sharing "parse_int" "clock" with "set_ttl" "publish" "next_token" "waiters" "exclusive" "own_client" "fair_lock_queue" "fair_read_write_queue" "readers" "permits" "holders";
    FORCE_RELEASE = "common/force_release" sharing "parse_int" "clock" with "set_ttl" "publish" "next_token" "waiters" "exclusive" "own_client" "fair_lock_queue" "fair_read_write_queue" "wake_next" "readers" "permits" "holders";
    REQUEST_RELEASE = "common/request_release" sharing "parse_int" "clock" with "set_ttl" "publish" "exclusive" "readers" "permits" "holders";
    RELEASE_REQUESTED = "common/release_requested" in "../";
    MISSING_RIGHTS = "common/missing_rights" in "../" with "publish" "commands";
}
