//! Time without the spans in which this machine was paused.
//!
//! A busy machine keeps a process from running for half a second now and then. A test with a limit
//! close to the promise would fail there, and a limit far away shows nothing. A [`Stopwatch`]
//! leaves these spans out, so a limit can be as short as the promise.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, Location, resume_unwind},
    pin::pin,
    sync::Once,
    thread,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use lock_core::store::runtime::Mutex;
use tokio::time::timeout;

const BEAT: Duration = Duration::from_millis(5);
/// A beat that is late by less than this is the usual change from one task to the next.
const LATE: Duration = Duration::from_millis(20);

/// Starts a thread on each processor that wakes up every few milliseconds. It calls `beat` with the
/// number of its thread and the time since it called it last, and ends when that returns false.
///
/// One processor can be paused alone, with the threads that wait for it; so there is one thread for
/// each.
pub fn beat_on_each_processor(beat: impl Fn(usize, Duration) -> bool + Clone + Send + 'static) {
    for (number, processor) in processors().into_iter().enumerate() {
        let beat = beat.clone();
        thread::spawn(move || {
            stay_on(processor);
            let mut last = Instant::now();
            loop {
                thread::sleep(BEAT);
                let since = last.elapsed();
                last += since;
                if !beat(number, since) {
                    return;
                }
            }
        });
    }
}

#[cfg(target_os = "linux")]
fn processors() -> Vec<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};

    let ours = sched_getaffinity(None).expect("the processors of this process");
    (0..CpuSet::MAX_CPU).filter(|at| ours.is_set(*at)).collect()
}

#[cfg(target_os = "linux")]
fn stay_on(processor: usize) {
    use rustix::thread::{CpuSet, sched_setaffinity};

    let mut one = CpuSet::new();
    one.set(processor);
    sched_setaffinity(None, &one).expect("a processor of this process");
}

/// Elsewhere one thread watches for all.
#[cfg(not(target_os = "linux"))]
fn processors() -> Vec<usize> {
    vec![0]
}

#[cfg(not(target_os = "linux"))]
fn stay_on(_processor: usize) {}

/// The observations of the threads of this process.
struct Seen {
    /// The last beat of each thread.
    beats: Vec<Instant>,
    /// Spans in which one of them did not run.
    stalls: Vec<(Instant, Instant)>,
}

static SEEN: Mutex<Seen> = Mutex::new(Seen { beats: Vec::new(), stalls: Vec::new() });
static STARTED: Once = Once::new();

fn look() {
    STARTED.call_once(|| {
        SEEN.lock().beats = vec![Instant::now(); processors().len()];
        beat_on_each_processor(|number, _| {
            let mut seen = SEEN.lock();
            let (now, due) = (Instant::now(), seen.beats[number] + BEAT);
            if now >= due + LATE {
                seen.stalls.push((due, now));
            }
            seen.beats[number] = now;
            true
        });
    });
}

/// Returns for how long in total some processor was paused since `from`.
fn stalled_since(from: Instant) -> Duration {
    let seen = SEEN.lock();
    let now = Instant::now();
    // A thread that does not run at the moment has not recorded its pause yet.
    let not_yet = seen.beats.iter().map(|beat| (*beat + BEAT, now));
    let not_yet = not_yet.filter(|(due, now)| *now >= *due + LATE);
    union_after(from, seen.stalls.iter().copied().chain(not_yet).collect())
}

/// Returns how much of the time after `from` is in at least one of the spans.
fn union_after(from: Instant, mut spans: Vec<(Instant, Instant)>) -> Duration {
    spans.sort();
    let (mut sum, mut covered) = (Duration::ZERO, from);
    for (begin, end) in spans {
        sum += end.saturating_duration_since(begin.max(covered));
        covered = covered.max(end);
    }
    sum
}

/// Counts time in which this machine runs.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to count.
    #[must_use]
    pub fn start() -> Self {
        look();
        Self(Instant::now())
    }

    /// Returns how long it has run: the time that has passed, less the time in which a processor
    /// was paused.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed().saturating_sub(stalled_since(self.0))
    }

    /// Returns the output of `future`, which must be ready before `limit` has passed on this watch.
    #[track_caller]
    pub fn within<F: Future>(self, limit: Duration, future: F) -> impl Future<Output = F::Output> {
        let caller = Location::caller();
        async move {
            let mut future = pin!(future);
            loop {
                let left = limit.saturating_sub(self.elapsed());
                assert!(
                    !left.is_zero(),
                    "{caller}: not ready after {limit:?}, without {:?} in which the machine stood \
                     still",
                    stalled_since(self.0)
                );
                if let Ok(output) = timeout(left, future.as_mut()).await {
                    let took = self.elapsed();
                    assert!(took < limit, "{caller}: ready after {took:?}, not within {limit:?}");
                    return output;
                }
            }
        }
    }
}

/// The shortest pause of the machine that excuses a failed test of real leases.
const TOO_LONG: Duration = Duration::from_millis(100);
const TRIES: u32 = 5;

/// Runs a test of real leases. If the machine was paused while it failed, the failure shows
/// nothing, and the test runs again, a few times at most. Any other failure counts at once.
pub async fn unless_stalled(mut case: impl AsyncFnMut()) {
    for _ in 1..TRIES {
        let watch = Stopwatch::start();
        let Err(failed) = AssertUnwindSafe(case()).catch_unwind().await else { return };
        let stalled = stalled_since(watch.0);
        if stalled < TOO_LONG {
            resume_unwind(failed);
        }
        eprintln!("once more: the machine stood still for {stalled:?} in this test");
    }
    case().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn spans_count_once_and_only_after_the_start() {
        let zero = Instant::now();
        let span = |from, to| (zero + ms(from), zero + ms(to));
        let spans = vec![span(0, 30), span(40, 60), span(50, 55), span(58, 80)];
        assert_eq!(union_after(zero + ms(20), spans), ms(10 + 40));
    }

    #[test]
    fn a_stall_is_left_out_while_it_lasts_and_afterwards() {
        let watch = Stopwatch::start();
        stand_still();
        assert!(watch.elapsed() < ms(200), "{:?}", watch.elapsed());
        thread::sleep(ms(30));
        assert!(watch.elapsed() < ms(200), "{:?}", watch.elapsed());
        thread::sleep(ms(200));
        assert!(watch.elapsed() >= ms(100), "time in which it runs counts");
    }

    /// As when no thread of this process runs: none can record its beat.
    fn stand_still() {
        let seen = SEEN.lock();
        thread::sleep(ms(300));
        drop(seen);
    }

    #[tokio::test]
    async fn a_case_runs_again_if_the_machine_stood_still() {
        let mut runs = 0;
        unless_stalled(async || {
            runs += 1;
            if runs == 1 {
                stand_still();
                panic!("on purpose");
            }
        })
        .await;
        assert_eq!(runs, 2);
    }

    #[tokio::test]
    #[should_panic(expected = "not ready after 50ms")]
    async fn what_is_late_is_found() {
        Stopwatch::start().within(ms(50), std::future::pending::<()>()).await;
    }
}
