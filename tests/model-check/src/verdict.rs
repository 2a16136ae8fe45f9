//! Checking a model, and what came of it.

use std::{
    fmt,
    hash::Hash,
    time::{Duration, Instant},
};

use stateright::{Checker, HasDiscoveries, Model};

use crate::{
    model::{Locks, Setup},
    redis::Redis,
    several::{self, Several},
    texts::Texts,
};

/// A rule that is broken, and how.
#[derive(Debug, Clone)]
pub struct Counterexample {
    /// Which.
    pub rule: &'static str,
    /// What leads there.
    pub actions: Vec<String>,
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

/// Checks a model until a rule is broken, and no more than about this number of transitions.
#[must_use]
pub fn check(setup: Setup, texts: Texts, transitions: usize) -> Verdict {
    let name = setup.name;
    let texts = setup.most_in_value.map_or(texts.clone(), |most| texts.with_most_in_value(most));
    let locks = Locks::new(setup, texts);
    let end = |world: &<Locks as Model>::State| shown(&world.redis, &world.clients);
    run(name, &locks, transitions, end, || locks.search.tell())
}

/// The same of several locks together.
#[must_use]
pub fn check_several(setup: several::Setup, texts: Texts, transitions: usize) -> Verdict {
    let name = setup.name;
    let locks = Several::new(setup, texts);
    let end = |world: &<Several as Model>::State| shown(&world.redis, &world.clients);
    run(name, &locks, transitions, end, || locks.search.tell())
}

fn shown(redis: &Redis, clients: &[impl fmt::Debug]) -> String {
    let clients: Vec<_> = clients.iter().map(|client| format!("{client:?}")).collect();
    format!("{redis:?}\n{}", clients.join("\n"))
}

fn run<M>(
    name: &'static str,
    model: &M,
    transitions: usize,
    end: impl Fn(&M::State) -> String,
    tell: impl Fn(),
) -> Verdict
where
    M: Model + Clone + Send + Sync + 'static,
    M::State: Clone + fmt::Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + fmt::Debug + PartialEq,
{
    let start = Instant::now();
    let checker = model.clone().checker();
    let checker = checker.threads(2).target_state_count(transitions);
    let checker = checker.finish_when(HasDiscoveries::Any).spawn_bfs().join();
    tell();
    let found = checker.discoveries().into_iter().map(|(rule, path)| {
        let end = end(path.last_state());
        let actions = path.into_actions().iter().map(|action| format!("{action:?}")).collect();
        Counterexample { rule, actions, end }
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
        self.actions.iter().try_for_each(|action| writeln!(f, "  {action}"))?;
        write!(f, "{}", self.end)
    }
}
