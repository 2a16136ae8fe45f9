//! How often a command ran, counted by Redis.

use std::collections::BTreeMap;

use super::Cli;

impl Cli {
    /// Returns how often `command` ran since the start or [`reset_stats`](Self::reset_stats).
    ///
    /// Counts every connection, including this one, and calls by scripts. A subcommand is written as in
    /// Redis: `client|list`, in lower or upper case.
    pub async fn calls(&self, command: &str) -> u64 {
        let counts = self.command_counts().await;
        let command = command.to_lowercase();
        counts.get(&command).copied().unwrap_or_default()
    }

    /// Returns how often each command ran, by its lower-case name, without those that never ran and
    /// `config`: before Redis 7, [`reset_stats`](Self::reset_stats) counts itself under that name.
    pub async fn command_counts(&self) -> BTreeMap<String, u64> {
        let info: String = self.query(&["INFO", "commandstats"]).await;
        info.lines().filter_map(count).filter(|(name, _)| name != "config").collect()
    }

    /// Resets all counts.
    pub async fn reset_stats(&self) {
        let () = self.query(&["CONFIG", "RESETSTAT"]).await;
    }
}

/// Parses `cmdstat_evalsha:calls=3,usec=...` as 3 for `evalsha`.
fn count(line: &str) -> Option<(String, u64)> {
    let (name, fields) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
    let calls = fields.split(',').next()?.parse().ok()?;
    Some((name.to_owned(), calls))
}
