//! Makes the schedule come true, lane by lane, and keeps a record of when what was broken.

mod accounts;
mod batches;
mod clock_jumps;
mod counters;
mod failover;
mod memory;
mod messages;
mod restarts;
mod servers;
mod slots;
mod stalls;
mod watch;
mod workers;
mod zookeeper;

use std::{
    panic::AssertUnwindSafe,
    sync::{Mutex, OnceLock, PoisonError},
};

use futures_util::FutureExt;
use lock_tests::Wire;
use tokio::{sync::RwLock, time::Instant};

use crate::{
    clock::{Nanos, now},
    deployment::Deployment,
    schedule::{Lane, Planned},
};

pub(crate) use watch::{SEEN, Watch};
pub(crate) use workers::{Crew, Life};

/// From before a fault was injected until after it was healed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) row: u8,
    pub(crate) variant: u8,
    pub(crate) lane: Lane,
    pub(crate) begin: Nanos,
    pub(crate) end: Nanos,
    /// Whether it was injected as it was meant to be.
    pub(crate) injected: bool,
}

/// What has been broken so far.
#[derive(Default)]
pub(crate) struct Record {
    windows: Mutex<Vec<Window>>,
    trouble: Mutex<Vec<String>>,
    /// What the campaign's own clients saw that must not be, and when.
    wrong: Mutex<Vec<(Nanos, String)>>,
    /// Why the servers are not what they were, for good.
    broken: OnceLock<String>,
}

impl Record {
    pub(crate) fn add(&self, window: Window) {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).push(window);
    }

    /// A fault that could not be injected, and why.
    fn failed(&self, planned: &Planned, why: impl std::fmt::Display) {
        let text = format!("{planned}: {why}");
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Something that must not be.
    fn wrong(&self, at: Nanos, what: String) {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).push((at, what));
    }

    pub(crate) fn findings(&self) -> Vec<(Nanos, String)> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn broken(&self) -> Option<String> {
        self.broken.get().cloned()
    }

    pub(crate) fn windows(&self) -> Vec<Window> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn trouble(&self) -> Vec<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the lanes of one slice share.
pub(crate) struct Nemesis {
    pub(crate) began: Instant,
    pub(crate) record: Record,
    wire: Wire,
    /// Held alone while Redis' clock is wrong: a hold whose process dies then may be kept for an
    /// hour, which is no fault of the locks.
    quiet: RwLock<()>,
}

impl Nemesis {
    pub(crate) fn new(wire: Wire) -> Self {
        let (began, record) = (Instant::now(), Record::default());
        Self { began, record, wire, quiet: RwLock::default() }
    }

    /// Breaks the servers as planned, one fault after the other.
    pub(crate) async fn break_servers(&self, deployment: &mut Deployment, plan: &[Planned]) {
        for planned in plan.iter().filter(|planned| planned.lane == Lane::Servers) {
            tokio::time::sleep_until(self.began + planned.at).await;
            let begin = now();
            let injected = AssertUnwindSafe(servers::inject(self, deployment, planned));
            match injected.catch_unwind().await {
                Ok(done) => self.note(planned, begin, done),
                // The details are on the standard error.
                Err(_) => {
                    let _first = self.record.broken.set(format!("{planned} was not healed"));
                    return;
                }
            }
        }
    }

    /// Breaks one worker, its links and its process as planned.
    pub(crate) async fn break_worker(&self, crew: &Crew, at: usize, plan: &[Planned]) {
        for planned in plan.iter().filter(|planned| planned.lane == Lane::Worker(at)) {
            tokio::time::sleep_until(self.began + planned.at).await;
            let _one_of_many = self.quiet.read().await;
            crew.prepare(at, planned).await;
            let begin = now();
            let done = crew.inject(at, planned).await;
            self.note(planned, begin, done);
        }
    }

    fn note(&self, planned: &Planned, begin: Nanos, done: Result<(), String>) {
        let Planned { row, variant, lane, .. } = *planned;
        self.record.add(Window { row, variant, lane, begin, end: now(), injected: done.is_ok() });
        if let Err(why) = done {
            self.record.failed(planned, why);
        }
    }
}
