//! How requests ended, as their clients saw it.

use std::{collections::BTreeMap, time::Duration};

/// A policy and an outcome.
pub(crate) type Label = (&'static str, &'static str);

#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    pub(crate) answers: BTreeMap<Label, u64>,
    /// The requests whose clients disconnected first, by policy. They may have been counted or not.
    pub(crate) left: BTreeMap<&'static str, u64>,
    /// Requests that a stopping replica did not accept: their clients sent them to the other one.
    pub(crate) not_accepted: u64,
    /// Answers of a replica that had been sent SIGTERM.
    pub(crate) while_stopping: u64,
    /// The first answer without the store, in seconds of the wall clock.
    pub(crate) first_unavailable: Option<f64>,
    /// The same of a lock that was lost.
    pub(crate) first_lost: Option<f64>,
    /// Answers without the store beside no failover.
    pub(crate) unexplained: u64,
    pub(crate) longest: Duration,
}

impl Tally {
    pub(crate) fn total(&self) -> u64 {
        self.answers.values().sum()
    }

    pub(crate) fn of(&self, policy: &str, outcome: &str) -> u64 {
        self.sum(|label| label == (policy, outcome))
    }

    pub(crate) fn sum(&self, which: impl Fn(Label) -> bool) -> u64 {
        self.answers.iter().filter(|(label, _)| which(**label)).map(|(_, count)| count).sum()
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (label, count) in &other.answers {
            *self.answers.entry(*label).or_default() += count;
        }
        for (policy, count) in &other.left {
            *self.left.entry(policy).or_default() += count;
        }
        self.not_accepted += other.not_accepted;
        self.while_stopping += other.while_stopping;
        self.unexplained += other.unexplained;
        self.first_unavailable = earlier(self.first_unavailable, other.first_unavailable);
        self.first_lost = earlier(self.first_lost, other.first_lost);
        self.longest = self.longest.max(other.longest);
    }
}

pub(crate) fn earlier(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}
