//! One of the processes: its tasks acquire the key, and write down when.

use std::{cell::RefCell, rc::Rc, time::Duration};

use lock_core::{AcquireError, Kind, LockClient};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    task::LocalSet,
    time::Instant,
};

use crate::{Args, Ending, Failure, LONG};

pub(crate) const READY: &str = "ready";
pub(crate) const REPORTED: &str = "reported ";

/// One grant; times are in microseconds on the clock that all processes of a machine share.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Grant {
    pub(crate) began: u64,
    pub(crate) granted: u64,
    pub(crate) released: u64,
    /// Its wait was longer than the measurement.
    pub(crate) patient: bool,
}

/// What one process had.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reported {
    pub(crate) grants: Vec<Grant>,
    /// When each patient task began to wait that was not granted the lock in the end.
    pub(crate) waits_still: Vec<u64>,
    pub(crate) gave_up: u64,
    pub(crate) overloaded: u64,
    /// The answer to the last try had not come.
    pub(crate) unavailable: u64,
}

fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000).unwrap_or(0)
}

pub(crate) async fn work(url: &str, args: &Args) -> Result<(), Failure> {
    let kind = args.kind.ok_or("a worker has a kind")?;
    let locks = args.wire.builder().connect(url).await?;
    println!("{READY}");
    BufReader::new(stdin()).lines().next_line().await?;
    let until = Instant::now() + Duration::from_secs(args.seconds);
    let reported = Rc::new(RefCell::new(Reported::default()));
    let tasks = LocalSet::new();
    for task in 0..args.tasks {
        let reported = Rc::clone(&reported);
        let patient = task < args.patient;
        let task = Task { locks: locks.clone(), kind, patient, args: args.clone(), reported };
        tasks.spawn_local(task.run(until));
    }
    tasks.await;
    println!("{REPORTED}{}", serde_json::to_string(&*reported.borrow())?);
    Ok(())
}

struct Task {
    locks: LockClient,
    kind: Kind,
    patient: bool,
    args: Args,
    reported: Rc<RefCell<Reported>>,
}

impl Task {
    async fn run(self, until: Instant) {
        while Instant::now() < until {
            let began = now_us();
            let requested = self.turn(began);
            if self.patient {
                if tokio::time::timeout_at(until, requested).await.is_err() {
                    self.reported.borrow_mut().waits_still.push(began);
                }
            } else {
                requested.await;
            }
        }
    }

    async fn turn(&self, began: u64) {
        let patience = match self.patient {
            true => LONG,
            false => Duration::from_millis(fastrand::u64(0..=self.args.patience_ms)),
        };
        let drops = self.args.ending == Ending::Drop && !self.patient;
        let wait = if drops { LONG } else { patience };
        let requested = self.locks.write("k").kind(self.kind).wait(wait).acquire();
        let answer = if drops {
            let Ok(answer) = tokio::time::timeout(patience, requested).await else {
                self.reported.borrow_mut().gave_up += 1;
                return;
            };
            answer
        } else {
            requested.await
        };
        match answer {
            Ok(guard) => {
                let granted = now_us();
                if self.args.hold_us > 0 {
                    tokio::time::sleep(Duration::from_micros(self.args.hold_us)).await;
                }
                let released = now_us();
                drop(guard);
                let patient = self.patient;
                self.reported.borrow_mut().grants.push(Grant { began, granted, released, patient });
            }
            Err(AcquireError::Busy(_)) => self.reported.borrow_mut().gave_up += 1,
            Err(AcquireError::Overloaded(_)) => {
                self.reported.borrow_mut().overloaded += 1;
                tokio::task::yield_now().await;
            }
            Err(AcquireError::Unavailable(_)) => self.reported.borrow_mut().unavailable += 1,
            Err(other) => panic!("{other}"),
        }
    }
}
