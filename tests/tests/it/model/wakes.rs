//! Which waiters a step lets in. A store cannot be put back to where it was, so each question has a
//! lock of its own: all of them take the recorded steps at the same times, until they are read.

use lock_core::{
    LockClient,
    test_util::{Answer, Ask, Step},
};

use crate::model::{
    history::span,
    record::{Recorded, Recording, Waiter},
    subject::Subject,
};

/// Whether a waiter can enter right before a step, or right after it.
struct Probe {
    lock: Subject,
    step: usize,
    waiter: usize,
    is_after: bool,
    enters: bool,
}

/// Marks the waiters that could not enter before a step and can after it.
pub(crate) async fn find_wakes(recording: &mut Recording) {
    let mut probes = probes(recording);
    let mut now = 0;
    for (number, recorded) in recording.steps.iter().enumerate() {
        tokio::time::advance(span(recorded.at - now)).await;
        now = recorded.at;
        for probe in probes.iter_mut().filter(|probe| probe.step >= number) {
            probe.follow(recorded, probe.step == number).await;
        }
    }
    for [before, after] in probes.as_chunks().0 {
        let waiter = &mut recording.steps[before.step].waiters[before.waiter];
        waiter.must_be_told = after.enters && !before.enters;
    }
}

/// Two for each waiter of each step: before it, and after it.
fn probes(recording: &Recording) -> Vec<Probe> {
    let client = LockClient::in_memory();
    let mut probes = Vec::new();
    for (step, recorded) in recording.steps.iter().enumerate() {
        for waiter in 0..recorded.waiters.len() {
            for is_after in [false, true] {
                let key = probes.len().to_string();
                let lock = Subject::new(&client, recording.kind, &key, recording.owners);
                probes.push(Probe { lock, step, waiter, is_after, enters: false });
            }
        }
    }
    probes
}

impl Probe {
    async fn follow(&mut self, recorded: &Recorded, is_its_step: bool) {
        if !is_its_step || self.is_after {
            self.lock.take(recorded.owner, recorded.step).await.unwrap();
        }
        if is_its_step {
            let Waiter { owner, ask, .. } = recorded.waiters[self.waiter];
            // A reader that does not yield any more finds by polling that others read.
            let ask = Ask { yields: true, ..ask };
            let answer = self.lock.take(owner, Step::Acquire(ask)).await.unwrap();
            self.enters = matches!(answer, Answer::Granted { .. });
        }
    }
}
