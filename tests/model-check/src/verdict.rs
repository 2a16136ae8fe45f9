//! Checking a model, and what came of it.

use std::{
    fmt,
    time::{Duration, Instant},
};

use stateright::{Checker, HasDiscoveries, Model};

use crate::{
    model::{Action, Locks, Setup},
    texts::Texts,
};

/// A rule that is broken, and how.
#[derive(Debug, Clone)]
pub struct Counterexample {
    /// Which.
    pub rule: &'static str,
    /// What leads there.
    pub actions: Vec<Action>,
    /// What it looks like there.
    pub end: String,
}

/// What came of a model.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Of the setup.
    pub name: &'static str,
    /// States that differ.
    pub states: usize,
    /// Steps from state to state.
    pub transitions: usize,
    /// How long it took.
    pub took: Duration,
    /// The shortest that was found, if any rule is broken.
    pub counterexample: Option<Counterexample>,
}

/// Checks a model to its end, or until a rule is broken.
#[must_use]
pub fn check(setup: Setup, texts: Texts) -> Verdict {
    check_some(setup, texts, usize::MAX)
}

/// Checks no more than about so many transitions.
#[must_use]
pub fn check_some(setup: Setup, texts: Texts, transitions: usize) -> Verdict {
    let (name, start) = (setup.name, Instant::now());
    let locks = Locks::new(setup, texts);
    let checker = locks.clone().checker();
    let checker = checker.threads(2).target_state_count(transitions);
    let checker = checker.finish_when(HasDiscoveries::Any).spawn_bfs().join();
    locks.tell();
    let found = checker.discoveries().into_iter().map(|(rule, path)| {
        let last = path.last_state();
        let clients: Vec<_> = last.clients.iter().map(|client| format!("{client:?}")).collect();
        let end = format!("{:?}\n{}", last.redis, clients.join("\n"));
        Counterexample { rule, end, actions: path.into_actions() }
    });
    Verdict {
        name,
        states: checker.unique_state_count(),
        transitions: checker.state_count(),
        took: start.elapsed(),
        counterexample: found.min_by_key(|found| found.actions.len()),
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "broken: {}", self.rule)?;
        self.actions.iter().try_for_each(|action| writeln!(f, "  {action:?}"))?;
        write!(f, "{}", self.end)
    }
}
