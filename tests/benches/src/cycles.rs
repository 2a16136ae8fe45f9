//! Acquires and releases again and again, uncontended.

use std::{sync::Arc, time::Duration};

use lock_tests::figures::percentile;
use tokio::time::sleep;

use crate::{
    clock::{Nanos, US, nanos, now, processor_time},
    observer::Observer,
    subject::{Name, Subject},
};

/// Before it counts: whatever is done once only.
const WARM_UP: usize = 20;
/// Time for commands that are still in flight. They count for Redis, not for the measured time.
const AFTERMATH: Duration = Duration::from_millis(30);

/// How the tasks go about it.
#[derive(Clone, Copy)]
pub(crate) struct Cycling {
    pub(crate) tasks: usize,
    /// Each task has so many keys of its own, one after the other.
    pub(crate) keys: usize,
    pub(crate) time: Duration,
}

/// One run of one subject.
pub(crate) struct Cycles {
    /// Those that count, and those before them.
    pub(crate) count: usize,
    pub(crate) per_second: f64,
    /// Microseconds, the median of all.
    pub(crate) take_us: f64,
    /// Microseconds of processor time per cycle.
    pub(crate) client_us: f64,
    pub(crate) redis_us: f64,
    /// Commands per cycle: sent, and called by scripts.
    pub(crate) sent: f64,
    pub(crate) within: f64,
}

impl Cycling {
    pub(crate) async fn run(&self, name: Name, subject: &Subject, observer: &Observer) -> Cycles {
        self.all(subject, Stop::After(WARM_UP)).await;
        subject.settled().await;
        let before = observer.look().await;
        let (start, processor) = (now(), processor_time());
        let taken = self.all(subject, Stop::At(start + nanos(self.time))).await;
        // What is given back is part of it.
        subject.settled().await;
        let (elapsed, processor) = (now() - start, processor_time() - processor);
        sleep(AFTERMATH).await;
        let spent = observer.look().await.since(&before, name.sends_for_a_free_lock());
        let count = taken.len() as f64;
        Cycles {
            count: taken.len() + WARM_UP * self.tasks,
            per_second: count * 1e9 / elapsed as f64,
            take_us: percentile(&taken, 50) as f64 / US,
            client_us: processor as f64 / US / count,
            redis_us: spent.processor_us / count,
            sent: spent.sent / count,
            within: spent.within / count,
        }
    }

    /// How long each took to be taken.
    async fn all(&self, subject: &Subject, stop: Stop) -> Vec<Nanos> {
        let tasks = (0..self.tasks).map(|task| {
            let keys = (0..self.keys).map(|key| format!("cycle-{task}-{key}")).collect();
            tokio::spawn(cycle(subject.clone(), keys, stop))
        });
        let mut taken = Vec::new();
        for task in tasks.collect::<Vec<_>>() {
            taken.append(&mut task.await.expect("a task that takes and gives back"));
        }
        taken
    }
}

#[derive(Clone, Copy)]
enum Stop {
    After(usize),
    At(Nanos),
}

async fn cycle(subject: Subject, keys: Arc<[String]>, stop: Stop) -> Vec<Nanos> {
    let mut taken = Vec::new();
    for key in keys.iter().cycle() {
        let requested = now();
        let over = match stop {
            Stop::After(count) => taken.len() >= count,
            Stop::At(end) => requested >= end,
        };
        if over {
            break;
        }
        let held = subject.take(key).await;
        taken.push(now() - requested);
        subject.give_back(held).await;
    }
    taken
}
