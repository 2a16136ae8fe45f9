//! The Lua scripts: one file each, put together with the shared functions they use.

use std::sync::LazyLock;

use redis::Script;

/// A script's name and its text as Redis gets it.
#[derive(Debug, Clone, Copy)]
pub struct ScriptText {
    /// Folder and file, as in `read_write/acquire_read`.
    pub name: &'static str,
    /// The composed text.
    pub text: &'static str,
}

macro_rules! scripts {
    ($($name:ident = $path:literal with $($shared:literal)*;)*) => {
        $(pub(super) static $name: LazyLock<Script> = LazyLock::new(|| Script::new(text::$name));)*

        mod text {
            $(pub(super) const $name: &str = concat!(
                $(include_str!(concat!("scripts/shared/", $shared, ".lua")),)*
                include_str!(concat!("scripts/", $path, ".lua")),
            );)*
        }

        /// Every script, for those who look at them one by one.
        pub const SCRIPTS: &[ScriptText] = &[$(ScriptText { name: $path, text: text::$name },)*];

        /// Every script, to be loaded into a server.
        pub(super) fn all() -> Vec<&'static Script> {
            vec![$(&*$name,)*]
        }
    };
}

scripts! {
    ACQUIRE_READ = "read_write/acquire_read" with "whole" "next_token" "mark" "hold_reads";
    ACQUIRE_WRITE = "read_write/acquire_write" with "whole" "next_token" "mark" "readers" "hold_reads";
    RENEW_READ = "read_write/renew_read" with "whole";
    RENEW_WRITE = "read_write/renew_write" with "whole" "hold_reads";
    RELEASE_READ = "read_write/release_read" with "whole" "mark" "readers";
    RELEASE_WRITE = "read_write/release_write" with "whole" "mark";
    UPGRADE = "read_write/upgrade" with "whole" "next_token" "readers" "hold_reads";
    DOWNGRADE = "read_write/downgrade" with "whole" "hold_reads";
    INSPECT = "read_write/inspect" with "readers";
}
