//! A Redis in memory: what the scripts ask for, and nothing else. Its clock is a part of it.

mod arguments;
mod commands;
mod hashes;
mod keys;
mod lists;
mod reply;
mod sets;
mod shown;
mod strings;
mod value;
mod zsets;

use std::collections::BTreeMap;

pub use reply::Reply;
pub use value::{Scored, Value};

/// What stands under a key.
#[derive(Clone, PartialEq)]
pub struct Entry {
    /// Its value.
    pub value: Value,
    /// In Redis' milliseconds; `None`: it stays for ever.
    pub ends: Option<i64>,
}

/// The key space, and what was published. Cheap to copy as long as little stands in it.
#[derive(Clone, PartialEq)]
pub struct Redis {
    now_us: i64,
    entries: BTreeMap<Vec<u8>, Entry>,
    reported: Vec<(Vec<u8>, Vec<u8>)>,
    denied: Option<Vec<u8>>,
    /// At its memory limit, without eviction.
    full: bool,
    /// Whether the script that runs has written.
    dirty: bool,
}

impl Redis {
    /// An empty one whose clock says this many microseconds.
    #[must_use]
    pub fn at(now_us: i64) -> Self {
        Self {
            now_us,
            entries: BTreeMap::new(),
            reported: Vec::new(),
            denied: None,
            full: false,
            dirty: false,
        }
    }

    /// Its clock, in milliseconds.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.now_us / 1_000
    }

    /// Its clock, in microseconds.
    #[must_use]
    pub fn now_us(&self) -> i64 {
        self.now_us
    }

    /// Lets time pass: what is over then is gone.
    pub fn advance(&mut self, ms: i64) {
        self.advance_us(ms * 1_000);
    }

    /// The same in microseconds.
    pub fn advance_us(&mut self, us: i64) {
        self.now_us += us;
        let now = self.now_ms();
        // Redis keeps a key through the very millisecond at which it ends.
        self.entries.retain(|_, entry| entry.ends.is_none_or(|ends| ends >= now));
    }

    /// Everything that stands.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        self.entries.iter().map(|(key, entry)| (key.as_slice(), entry))
    }

    /// What stands under a key.
    #[must_use]
    pub fn entry(&self, key: &[u8]) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Milliseconds until a key ends: -2 without the key, -1 for one that stays for ever.
    #[must_use]
    pub fn left_ms(&self, key: &[u8]) -> i64 {
        match self.entries.get(key) {
            None => -2,
            Some(Entry { ends: None, .. }) => -1,
            Some(Entry { ends: Some(ends), .. }) => (ends - self.now_ms()).max(0),
        }
    }

    /// What was published since this was requested last: channel and message.
    pub fn take_told(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        std::mem::take(&mut self.reported)
    }

    /// Removes a key, as a failover may.
    pub fn forget(&mut self, key: &[u8]) {
        self.entries.remove(key);
    }

    /// Takes the right to a key from the user, as an operator may at any moment.
    pub fn deny(&mut self, key: &[u8]) {
        self.denied = Some(key.to_vec());
    }

    /// Puts it at its memory limit, or takes it from there.
    pub fn fill(&mut self, full: bool) {
        self.full = full;
    }

    /// Whether it is at its memory limit.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Another script begins, or has ended.
    pub(crate) fn between_scripts(&mut self) {
        self.dirty = false;
    }

    /// Carries a command out that stands alone.
    pub fn call(&mut self, words: &[Vec<u8>]) -> Reply {
        self.between_scripts();
        let reply = self.call_in_script(words);
        self.between_scripts();
        reply
    }

    /// Carries a command of a script out.
    pub(crate) fn call_in_script(&mut self, words: &[Vec<u8>]) -> Reply {
        if self.denied.as_ref().is_some_and(|key| words.iter().skip(1).any(|word| word == key)) {
            return Reply::error("NOPERM No permissions to access a key");
        }
        let name = words.first().map(|name| String::from_utf8_lossy(name).to_ascii_lowercase());
        let name = name.unwrap_or_default();
        // Redis lets a script go on that has written: it cannot be undone.
        if self.full && !self.dirty && commands::needs_memory(&name) {
            return Reply::error("OOM command not allowed when used memory > 'maxmemory'.");
        }
        self.dirty |= commands::writes(&name);
        commands::carry_out(self, words).unwrap_or_else(|error| error)
    }
}
