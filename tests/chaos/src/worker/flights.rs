//! Single flights: several callers of every worker want one result at the same time.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use futures_util::future::join_all;
use lock_core::{AcquireError, LockError, OnceError, Scope};
use tokio::{
    sync::Mutex,
    time::{sleep, timeout},
};

use super::{Worker, acquire::refusal, counter::Counter, held::Held, hold::Recorded};
use crate::{
    clock::{nanos, now},
    deployment::KEPT,
    history::{Record, Refusal},
    keys::{Access, Family, KEYS},
};

/// From one result to the next. All workers have one clock, so they want the same one.
const ROUND: Duration = Duration::from_millis(400);
const CALLERS: usize = 6;
const WAIT: Duration = Duration::from_secs(3);
const LEASE: Duration = Duration::from_secs(1);

/// One result, and how one caller makes it.
pub(super) struct Flight {
    round: u64,
    fill: Duration,
    /// Whether it is made without the lock while the store does not answer.
    unlocked: bool,
}

impl Flight {
    fn key(&self) -> String {
        let keys = KEYS as u64;
        Family::Flight.key(usize::try_from(self.round % keys).unwrap_or_default())
    }
}

/// Wants every result, several times.
pub(super) async fn fly(worker: Arc<Worker>, seed: u64) {
    let mut random = Rng::with_seed(seed);
    while !worker.finishing.load(Ordering::SeqCst) {
        let round = round();
        let mut flight = || Flight {
            round,
            fill: Duration::from_millis(random.u64(1..60)),
            unlocked: random.u8(..100) < 20,
        };
        let flights: Vec<Flight> = (0..CALLERS).map(|_| flight()).collect();
        join_all(flights.iter().map(|flight| worker.want(flight))).await;
        sleep(until(round + 1)).await;
    }
}

/// How long a slow fill takes, and after which time a caller drops it.
const SLOW: Duration = Duration::from_secs(2);
const DROPPED: Duration = Duration::from_millis(400);

/// Makes the next result, and takes long for it, or drops it: the other callers of the round wait meanwhile.
pub(super) async fn fill_slowly(worker: &Worker, drops: bool) {
    let round = round() + 1;
    // A moment before the others.
    sleep(until(round).saturating_sub(Duration::from_millis(5))).await;
    let flight = Flight { round, fill: SLOW, unlocked: false };
    let most = if drops { DROPPED } else { Duration::MAX };
    // The time is over, or another caller has made it.
    let _ = timeout(most, worker.want(&flight)).await;
}

fn round() -> u64 {
    now() / nanos(ROUND)
}

/// The time until a round begins.
fn until(round: u64) -> Duration {
    Duration::from_nanos((round * nanos(ROUND)).saturating_sub(now()))
}

impl Worker {
    /// Gets one result: makes it, or finds that another caller has made it.
    async fn want(&self, flight: &Flight) {
        let (n, key) = (self.number(), flight.key());
        self.write(&Record::Ask {
            n,
            at: now(),
            family: Family::Flight,
            access: Access::Write,
            keys: vec![key.clone()],
            wait: nanos(WAIT),
            lease: nanos(self.session_lease.unwrap_or(LEASE)),
            kept: nanos(self.session_lease.map_or(LEASE, |_| KEPT)),
        });
        let request = Request { worker: self, n, is_answered: AtomicBool::new(false) };
        let results = Mutex::new(Counter::at(self.resource.clone()));
        let check = || async { Ok(results.lock().await.found(&key, flight.round).await?) };
        let fill = || async {
            self.fill(flight, &key, &request).await?;
            Ok(results.lock().await.made(&key, flight.round).await?)
        };
        let lock = self.with_lease(self.locks.write(key.as_str()).wait(WAIT), LEASE);
        let ended = match flight.unlocked {
            true => lock.once_or_unlocked(check, fill).await,
            false => lock.once(check, fill).await,
        };
        let why = match ended {
            Ok(()) => Refusal::Found,
            Err(
                OnceError::Work(Trouble::Refused(why)) | OnceError::Lock(LockError::Acquire(why)),
            ) => refusal(why),
            Err(OnceError::Lock(LockError::Lost(_))) => Refusal::Lost,
            Err(OnceError::Work(Trouble::Resource(error))) => Refusal::Other(error.to_string()),
            Err(_) => Refusal::Other("a flight ended in an unknown way".to_owned()),
        };
        request.refuse(why);
    }

    /// Works as a holder does. The lock is entered again for that, to check it.
    async fn fill(&self, flight: &Flight, key: &str, request: &Request<'_>) -> Result<(), Trouble> {
        let scope = Scope::current().expect("BUG: a fill has a scope");
        let again = match self.with_lease(scope.write(key), LEASE).try_acquire().await {
            Ok(guard) => Held::Lock(guard),
            // It is made without the lock, or is lost already.
            Err(_) if flight.unlocked => {
                sleep(flight.fill).await;
                return Ok(());
            }
            Err(why) => return Err(Trouble::Refused(why)),
        };
        request.is_answered.store(true, Ordering::SeqCst);
        let n = request.n;
        let (at, left) = (now(), nanos(again.remaining()));
        let tokens = again.tokens(&self.plain(Family::Flight, key));
        self.write(&Record::Grant { n, at, left, tokens });
        let mut recorded = Recorded::begin(self, n);
        self.protect(n, &again, &mut recorded.looked, sleep(flight.fill)).await;
        Ok(())
    }
}

/// A caller's request, which is written down as cancelled when the caller is dropped before its answer.
struct Request<'a> {
    worker: &'a Worker,
    n: u64,
    is_answered: AtomicBool,
}

impl Request<'_> {
    /// Unless the caller has made the result itself.
    fn refuse(&self, why: Refusal) {
        if !self.is_answered.swap(true, Ordering::SeqCst) {
            self.worker.write(&Record::Refused { n: self.n, at: now(), why });
        }
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.refuse(Refusal::Cancelled);
    }
}

/// Why a result was neither made nor found.
enum Trouble {
    Refused(AcquireError),
    Resource(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Resource(error)
    }
}
