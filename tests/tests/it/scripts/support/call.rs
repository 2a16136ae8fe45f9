//! One call of one script, with literal keys and arguments.

use std::{collections::HashMap, fmt::Display, sync::LazyLock};

use lock_core::test_util::{NATIVE_SCRIPTS, SCRIPTS, sent_text};

use crate::scripts::support::keys::{CHANNEL, COUNTER, LINE, LOCK, TAG, TOKEN};

/// Far above what a busy machine loses between two commands, so that bounds on a TTL hold.
pub(crate) const LEASE: i64 = 600_000;
pub(crate) const LONGER: i64 = 1_800_000;
pub(crate) const PLACE_MS: i64 = 300_000;
pub(crate) const HOUR: i64 = 3_600_000;

/// Arguments carry the names that the script's header gives them; the nonce comes first always.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) script: &'static str,
    pub(crate) keys: Vec<String>,
    pub(crate) args: Vec<(&'static str, String)>,
}

impl Call {
    pub(crate) fn new<const K: usize, const A: usize>(
        script: &'static str,
        keys: [&str; K],
        args: [(&'static str, &dyn Display); A],
    ) -> Self {
        Self {
            script,
            keys: keys.map(String::from).into(),
            args: args.map(|(name, value)| (name, value.to_string())).into(),
        }
    }

    /// The same call with another value for one argument.
    pub(crate) fn with(&self, name: &str, value: impl Display) -> Self {
        let mut call = self.clone();
        let argument = call.args.iter_mut().find(|(known, _)| *known == name);
        argument.expect("an argument of this script").1 = value.to_string();
        call
    }

    /// The arguments without the last ones that equal the script's defaults: clients leave
    /// them off, and what is quick in a script answers no other calls.
    pub(crate) fn said(&self) -> &[(&'static str, String)] {
        let granted: &[_] = match self.script.split_once('/') {
            Some(("exclusive" | "read_write", verb)) if verb.starts_with("acquire") => {
                &[("waited_ms", "0"), ("yields", "1"), ("holds", "1"), ("reserved_tokens", "0")]
            }
            Some(("exclusive" | "read_write", verb)) if verb.starts_with("release") => {
                &[("holds", "0"), ("queued", "0")]
            }
            Some(("semaphore", "acquire")) => {
                &[("place_ms", "0"), ("waited_ms", "0"), ("wanted", "1")]
            }
            Some(("semaphore", "release")) => &[("queued", "0")],
            _ => &[],
        };
        let is_granted = |(name, value): &(_, String)| granted.contains(&(*name, value.as_str()));
        let last = self.args.iter().rposition(|arg| !is_granted(arg));
        &self.args[..last.map_or(0, |last| last + 1)]
    }

    /// The text that Redis gets.
    pub(crate) fn text(&self) -> &'static str {
        static SENT: LazyLock<HashMap<&str, String>> = LazyLock::new(|| {
            let scripts = SCRIPTS.iter().chain(NATIVE_SCRIPTS);
            scripts.map(|script| (script.name, sent_text(script.text))).collect()
        });
        SENT.get(self.script).expect("a script of this name")
    }

    /// The first argument, of a script that takes it for its nonce.
    pub(crate) fn own_nonce(&self) -> Option<&str> {
        (self.script == "native/release_free").then(|| self.args[0].1.as_str())
    }

    /// EVAL or EVALSHA: `how` has the command with the text or its digest.
    pub(crate) fn words(&self, how: [&str; 2], nonce: &str) -> Vec<String> {
        let mut words = how.map(String::from).to_vec();
        words.push(self.keys.len().to_string());
        words.extend(self.keys.iter().cloned());
        if self.own_nonce().is_none() {
            words.push(nonce.to_owned());
        }
        words.extend(self.said().iter().map(|(_, value)| value.clone()));
        words
    }
}

/// Prefix of an owner's read keys.
pub(crate) fn reads(owner: &str) -> String {
    format!("{TAG}:{owner}:rwlock_timeout")
}

pub(crate) fn acquire_read(owner: &str, holds: u32) -> Call {
    Call::new(
        "read_write/acquire_read",
        [LOCK, LINE, TOKEN, &reads(owner), CHANNEL, COUNTER],
        [
            ("owner", &owner),
            ("lease", &LEASE),
            ("token_ttl", &HOUR),
            ("place_ms", &PLACE_MS),
            ("waited_ms", &0),
            ("yields", &1),
            ("holds", &holds),
        ],
    )
}

pub(crate) fn acquire_write(owner: &str, holds: u32) -> Call {
    Call::new(
        "read_write/acquire_write",
        [LOCK, LINE, TOKEN, CHANNEL, COUNTER],
        [
            ("owner", &owner),
            ("lease", &LEASE),
            ("token_ttl", &HOUR),
            ("place_ms", &PLACE_MS),
            ("waited_ms", &0),
            ("yields", &1),
            ("holds", &holds),
            ("reserved_tokens", &0),
        ],
    )
}

pub(crate) fn renew_read(owner: &str) -> Call {
    let args: [(_, &dyn Display); 2] = [("owner", &owner), ("lease", &LEASE)];
    Call::new("read_write/renew_read", [LOCK, &reads(owner)], args)
}

pub(crate) fn renew_write(owner: &str) -> Call {
    let args: [(_, &dyn Display); 2] = [("owner", &owner), ("lease", &LEASE)];
    Call::new("read_write/renew_write", [LOCK, &reads(owner)], args)
}

pub(crate) fn release_read(owner: &str, holds: u32) -> Call {
    Call::new(
        "read_write/release_read",
        [LOCK, &reads(owner), CHANNEL, LINE],
        [("owner", &owner), ("holds", &holds), ("queued", &0)],
    )
}

pub(crate) fn release_write(owner: &str, holds: u32) -> Call {
    Call::new(
        "read_write/release_write",
        [LOCK, CHANNEL, LINE],
        [("owner", &owner), ("holds", &holds), ("queued", &0)],
    )
}

pub(crate) fn upgrade(owner: &str, read_holds: u32, write_holds: u32) -> Call {
    Call::new(
        "read_write/upgrade",
        [LOCK, &reads(owner), TOKEN, COUNTER],
        [
            ("owner", &owner),
            ("lease", &LEASE),
            ("read_holds", &read_holds),
            ("write_holds", &write_holds),
            ("token_ttl", &HOUR),
            ("tag", &TAG),
        ],
    )
}

pub(crate) fn downgrade(owner: &str, read_holds: u32, write_holds: u32) -> Call {
    Call::new(
        "read_write/downgrade",
        [LOCK, &reads(owner), CHANNEL, LINE],
        [
            ("owner", &owner),
            ("lease", &LEASE),
            ("read_holds", &read_holds),
            ("write_holds", &write_holds),
        ],
    )
}
