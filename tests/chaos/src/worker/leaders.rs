//! Elections: every worker is a candidate for each key, and one leads, term after term.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use lock_core::{AcquireError, Term};
use lock_key::MAX_DURATION;
use tokio::{task::JoinHandle, time::sleep};

use super::{Worker, held::Held, hold::Recorded};
use crate::{
    clock::{nanos, now},
    deployment::KEPT,
    history::{Record, Refusal},
    keys::{Access, Family},
};

const LEASE: Duration = Duration::from_secs(1);
/// A term whose loss was noticed ends within this time: on a busy machine too.
const ENDS: Duration = Duration::from_secs(10);

/// Leads, resigns, and is a candidate again. A worker leads its own key for long, and the others'
/// in between.
pub(super) async fn be_candidate(worker: Arc<Worker>, place: usize, seed: u64) {
    let mut random = Rng::with_seed(seed);
    let key = Family::Leader.key(place);
    while !worker.finishing.load(Ordering::SeqCst) {
        let length = if place == worker.place { 1_000..3_000 } else { 20..200 };
        let length = Duration::from_millis(random.u64(length));
        let candidacy = Arc::new(Candidacy {
            worker: Arc::clone(&worker),
            key: key.clone(),
            n: AtomicU64::default(),
        });
        candidacy.request();
        let (leader, leads) = (worker.locks.leader(key.as_str()), Arc::clone(&candidacy));
        let leader = if worker.session_lease.is_some() { leader } else { leader.lease(LEASE) };
        // The closure is a task's, so it owns what it has.
        let run = leader.run(async move |term| leads.lead(term, length).await);
        candidacy.wait(tokio::spawn(run)).await;
        sleep(Duration::from_millis(random.u64(0..50))).await;
    }
}

/// From a first request to lead until a term has ended in order.
struct Candidacy {
    worker: Arc<Worker>,
    key: String,
    /// The number of its last request, and whether it was answered.
    n: AtomicU64,
}

impl Candidacy {
    fn request(&self) {
        let worker = &self.worker;
        let n = worker.number();
        self.n.store(n, Ordering::SeqCst);
        worker.write(&Record::Ask {
            n,
            at: now(),
            family: Family::Leader,
            access: Access::Write,
            keys: vec![self.key.clone()],
            wait: nanos(MAX_DURATION),
            lease: nanos(worker.session_lease.unwrap_or(LEASE)),
            kept: nanos(worker.session_lease.map_or(LEASE, |_| KEPT)),
        });
    }

    async fn lead(&self, term: Term, length: Duration) {
        let n = self.n.load(Ordering::SeqCst);
        let held = Held::Term(term);
        let (at, left) = (now(), nanos(held.remaining()));
        let tokens = held.tokens(&self.worker.plain(Family::Leader, &self.key));
        self.worker.write(&Record::Grant { n, at, left, tokens });
        let mut leading = Leading {
            recorded: Some(Recorded::begin(&self.worker, n)),
            candidacy: self,
            resigns: false,
        };
        let looked = &mut leading.recorded.as_mut().expect("BUG: it has begun").looked;
        self.worker.protect(n, &held, looked, sleep(length)).await;
        if looked.lost.is_some() {
            // It is dropped here.
            sleep(ENDS).await;
            self.worker.wrong(format!("the lost term of {} does not end", self.key));
            pending::<()>().await;
        }
        leading.resigns = true;
    }

    /// Waits until a term has ended in order, or the worker is to end.
    async fn wait(&self, mut running: JoinHandle<Result<(), AcquireError>>) {
        let ended = loop {
            tokio::select! {
                ended = &mut running => break ended,
                () = sleep(Duration::from_millis(100)) => {
                    if self.worker.finishing.load(Ordering::SeqCst) {
                        running.abort();
                        break running.await;
                    }
                }
            }
        };
        let why = match ended {
            Ok(Ok(())) => return,
            Ok(Err(AcquireError::WrongKind(_))) => Refusal::WrongKind,
            Ok(Err(other)) => Refusal::Other(other.to_string()),
            Err(aborted) if aborted.is_cancelled() => Refusal::Cancelled,
            Err(panicked) => Refusal::Other(panicked.to_string()),
        };
        let n = self.n.load(Ordering::SeqCst);
        self.worker.write(&Record::Refused { n, at: now(), why });
    }
}

/// A term. When its work is dropped, its process is a candidate again.
struct Leading<'a> {
    candidacy: &'a Candidacy,
    recorded: Option<Recorded<'a>>,
    resigns: bool,
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        drop(self.recorded.take());
        if !self.resigns {
            self.candidacy.request();
        }
    }
}
