//! The Lua scripts of the native wire, composed with the shared functions that they use.

use redis::Script;

#[cfg(feature = "test-util")]
use crate::redis::protocol::ScriptText;
use crate::redis::protocol::{LockScript, script};

macro_rules! common {
    ($($lib:literal)*) => { concat!($(include_str!(concat!("../scripts/lib/", $lib, ".lua")),)*) };
}

macro_rules! native {
    ($($lib:literal)*) => { concat!($(include_str!(concat!("scripts/lib/", $lib, ".lua")),)*) };
}

macro_rules! script {
    ($name:literal) => {
        include_str!(concat!("scripts/", $name, ".lua"))
    };
}

/// The functions that every script on a lock uses. A fast path runs before they are defined: Redis
/// defines them anew for each call.
macro_rules! lock {
    ($($fast_path:literal)?) => {
        concat!(
            native!("mark"),
            $("do\n", include_str!(concat!("scripts/fast_path/", $fast_path, ".lua")), "end\n\n",)?
            common!("parse_int" "clock" "pause"),
            native!("publish" "short_line" "value" "line"),
        )
    };
}

macro_rules! scripts {
    ($($name:ident = $path:literal: $text:expr;)*) => {
        $(
            pub(crate) static $name: LockScript = LockScript::new(
                concat!("native/", $path),
                || script(concat!("local SHARDED = false\n\n", $text)),
                || script(concat!("local SHARDED = true\n\n", $text)),
            );
        )*

        /// Every script for a single server, for tests of single scripts.
        #[cfg(feature = "test-util")]
        pub const SCRIPTS: &[ScriptText] = &[$(ScriptText {
            name: concat!("native/", $path),
            text: concat!("local SHARDED = false\n\n", $text),
        },)*];

        pub(crate) fn all() -> Vec<&'static Script> {
            vec![$(&*$name,)*]
        }

        pub(crate) fn all_sharded() -> Vec<&'static Script> {
            vec![$($name.sharded(),)*]
        }
    };
}

scripts! {
    ACQUIRE = "acquire": concat!(lock!("acquire"), native!("token"), script!("acquire"));
    RELEASE_FREE = "release_free": script!("release_free");
    RELEASE = "release": concat!(lock!("release"), script!("release"));
    LEAVE = "leave": concat!(lock!(), script!("leave"));
    RENEW = "renew": concat!(common!("parse_int" "clock" "renewed"), native!("mark"), script!("renew"));
    CONVERT = "convert": concat!(lock!(), native!("token"), script!("convert"));
    TRANSFER = "transfer": concat!(lock!(), script!("transfer"));
    ACQUIRE_ALL = "acquire_all": concat!(
        lock!(), native!("token"),
        "local function acquire(KEYS, ARGV)\n", script!("acquire"), "end\n\n",
        "local function release_each(KEYS, ARGV)\n", script!("release"), "end\n\n",
        script!("acquire_all"));
    INSPECT = "inspect": concat!(lock!(), native!("token" "holders"), script!("inspect"));
    FORCE_RELEASE = "force_release": concat!(lock!(), native!("token" "holders"), script!("force_release"));
    REQUEST_RELEASE = "request_release": concat!(lock!(), native!("holders"), script!("request_release"));
    RELEASE_REQUESTED = "release_requested": include_str!("../scripts/common/release_requested.lua");
    MISSING_RIGHTS = "missing_rights": concat!(
        native!("publish" "commands"), include_str!("../scripts/common/missing_rights.lua"));
    COUNT_PERMITS = "count_permits": concat!(lock!(), script!("count_permits"));
}
