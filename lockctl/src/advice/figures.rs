//! The figures of a rule under certain settings.

use lockctl::observed::shadow_log::Request;
use serde_json::{Value, json};

use super::replay::Fate;

/// Seconds, and shares from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    pub(crate) requests: u64,
    pub(crate) refused: f64,
    /// Of the granted requests, with those that were granted at once; `None` if there are none.
    pub(crate) wait_mean: Option<f64>,
    pub(crate) wait_p95: Option<f64>,
    /// `None` if the duration or the number of commands is not known.
    pub(crate) commands_per_second: Option<f64>,
}

impl Figures {
    /// Returns the figures of one policy in a replay that covers so many seconds.
    pub(crate) fn of(policy: usize, requests: &[Request], fates: &[Fate], seconds: f64) -> Self {
        let own: Vec<&Fate> = requests
            .iter()
            .zip(fates)
            .filter_map(|(request, fate)| (request.policy == policy).then_some(fate))
            .collect();
        let mut waits: Vec<u64> = own.iter().filter_map(|fate| fate.waited).collect();
        waits.sort_unstable();
        let in_seconds = |micros: u64| micros as f64 / 1e6;
        let sum: f64 = waits.iter().copied().map(in_seconds).sum();
        let commands: u64 = own.iter().map(|fate| fate.commands).sum();
        let rank = (waits.len() * 95).div_ceil(100).saturating_sub(1);
        Self {
            requests: own.len() as u64,
            refused: (own.len() - waits.len()) as f64 / own.len().max(1) as f64,
            wait_mean: (!waits.is_empty()).then(|| sum / waits.len() as f64),
            wait_p95: waits.get(rank).copied().map(in_seconds),
            commands_per_second: Some(commands as f64 / seconds),
        }
    }

    pub(crate) fn to_json(self) -> Value {
        json!({
            "refused": self.refused,
            "wait_mean_seconds": self.wait_mean,
            "wait_p95_seconds": self.wait_p95,
            "commands_per_second": self.commands_per_second,
        })
    }

    /// Whether a reader of the table sees no difference.
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        self.columns() == other.columns()
    }

    /// Returns the cells of the table: refused, mean wait, p95 wait, commands per second.
    pub(crate) fn columns(&self) -> [String; 4] {
        let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        [
            format!("{:.2} %", self.refused * 100.0),
            or_dash(self.wait_mean.map(duration)),
            or_dash(self.wait_p95.map(duration)),
            or_dash(self.commands_per_second.map(|rate| format!("{rate:.1}"))),
        ]
    }
}

/// Writes seconds so that a person can compare them.
fn duration(seconds: f64) -> String {
    match seconds {
        less if less < 0.0005 => "0 ms".to_owned(),
        less if less < 0.9995 => format!("{:.0} ms", less * 1e3),
        more => format!("{more:.1} s"),
    }
}
