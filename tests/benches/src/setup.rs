//! What all measurements stand on: a Redis of their own, how often and for how long they run.

use std::time::Duration;

use lock_tests::{Process, RedisServer};

use crate::{observer::Observer, subject::Name};

/// Other processes have this long for whatever they do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct BenchSetup {
    server: RedisServer,
    pub(crate) url: String,
    pub(crate) observer: Observer,
    pub(crate) quick: bool,
}

impl BenchSetup {
    pub(crate) async fn start(quick: bool) -> Self {
        let server = RedisServer::start().await;
        let url = server.url();
        let observer = Observer::connect(&url).await;
        Self { server, url, observer, quick }
    }

    pub(crate) fn server(&self) -> &RedisServer {
        &self.server
    }

    /// How often everything is measured, one subject after the other each time.
    pub(crate) fn repeats(&self) -> usize {
        if self.quick { 2 } else { 5 }
    }

    /// For how long one run of one subject lasts.
    pub(crate) fn run(&self) -> Duration {
        Duration::from_millis(if self.quick { 250 } else { 1_500 })
    }

    pub(crate) fn count(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// This program in another process.
    pub(crate) fn process(words: &[String]) -> Process {
        let program = std::env::current_exe().expect("a running program has a path");
        let process = Process::builder(program).hears();
        words.iter().fold(process, |process, word| process.arg(word)).start()
    }
}

/// Something that was measured several times for several subjects, in the order of the subjects.
pub(crate) struct Runs<T>(Vec<(Name, Vec<T>)>);

impl<T> Runs<T> {
    pub(crate) fn of(names: &[Name]) -> Self {
        Self(names.iter().map(|name| (*name, Vec::new())).collect())
    }

    pub(crate) fn add(&mut self, name: Name, run: T) {
        let runs = self.0.iter_mut().find(|(known, _)| *known == name);
        runs.expect("BUG: an unknown subject").1.push(run);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Name, &[T])> {
        self.0.iter().map(|(name, runs)| (*name, runs.as_slice()))
    }

    pub(crate) fn figures(&self, name: Name, figure: impl Fn(&T) -> f64) -> Vec<f64> {
        let runs = self.0.iter().find(|(known, _)| *known == name);
        runs.expect("BUG: an unknown subject").1.iter().map(figure).collect()
    }
}
