//! Holds that change hands: one worker parks a hold, and another resumes it by the ticket, which it finds
//! as a file beside the histories.

use std::{
    collections::HashSet, fs, io, path::PathBuf, sync::Arc, sync::atomic::Ordering, time::Duration,
};

use fastrand::Rng;
use lock_core::{HoldTicket, ParkError, ResumeError};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::{LEASE, Worker, acquire::unavailable, held::Held, hold::Looked, turn::Turn};
use crate::{
    clock::{MS, Nanos, nanos, now},
    history::{Ending, Record, Refusal},
    keys::{Access, Family, KEYS},
};

/// How long a hold is parked.
const PARKED: Duration = Duration::from_millis(1_500);
/// Redis counts in milliseconds, and on another clock.
const ROUNDING: Nanos = 10 * MS;
/// From the ticket to the moment at which it is resumed, by every worker that does so.
const AHEAD: Duration = Duration::from_millis(60);
const FILE: &str = "ticket";
/// How many of a hundred tickets a worker resumes.
const RESUMED: u8 = 50;

/// A ticket on its way from one worker to the others.
#[derive(Serialize, Deserialize)]
struct Handed {
    name: String,
    key: String,
    ticket: String,
    at: Nanos,
    /// Whether every worker is to resume it, at the same time.
    by_all: bool,
}

/// Parks holds, now and then.
pub(super) async fn park(worker: Arc<Worker>, seed: u64) {
    let mut random = Rng::with_seed(seed);
    while !worker.finishing.load(Ordering::SeqCst) {
        park_one(&worker, &Family::Parked.key(random.usize(..KEYS)), false).await;
        sleep(Duration::from_millis(random.u64(100..400))).await;
    }
}

/// Parks one hold of each key.
pub(super) async fn park_each(worker: &Worker, by_all: bool) {
    let parking = (0..KEYS).map(|at| async move {
        park_one(worker, &Family::Parked.key(at), by_all).await;
    });
    futures_util::future::join_all(parking).await;
}

async fn park_one(worker: &Worker, key: &str, by_all: bool) {
    let turn = worker.plain(Family::Parked, key);
    let Some((n, held)) = worker.acquire(&turn, None).await else { return };
    let mut looked = Looked::begin();
    worker.protect(n, &held, &mut looked, sleep(turn.hold)).await;
    worker.write(&looked.end(n, Ending::Released));
    let Held::Lock(guard) = held else { unreachable!("BUG: it has one key") };
    // Redis keeps it for that long at least after it has received the command.
    let until = now() + nanos(PARKED) - ROUNDING;
    match guard.park(PARKED).await {
        Ok(ticket) => {
            let name = format!("{}-{}-{n}", worker.place, std::process::id());
            worker.write(&Record::Parked { n, at: now(), until, ticket: name.clone() });
            let (key, ticket) = (key.to_owned(), ticket.to_string());
            let at = now() + nanos(AHEAD);
            worker.hand_on(&Handed { name, key, ticket, at, by_all }).await;
        }
        Err(ParkError::Lost(_) | ParkError::Unavailable(_)) => {}
        Err(other) => worker.wrong(format!("{key} was not parked: {other}")),
    }
}

/// Resumes half of the tickets that it finds.
pub(super) async fn resume(worker: Arc<Worker>, seed: u64) {
    let (mut random, mut seen) = (Rng::with_seed(seed), HashSet::new());
    while !worker.finishing.load(Ordering::SeqCst) {
        for handed in worker.handed().expect("cannot read the tickets") {
            if seen.insert(handed.name.clone()) && (handed.by_all || random.u8(..100) < RESUMED) {
                let (worker, hold) =
                    (Arc::clone(&worker), Duration::from_millis(random.u64(0..120)));
                tokio::spawn(async move { worker.resume(&handed, hold).await });
            }
        }
        sleep(Duration::from_millis(20)).await;
    }
}

impl Worker {
    fn directory(&self) -> PathBuf {
        self.resource.parent().map(PathBuf::from).unwrap_or_default()
    }

    /// Leaves the ticket to the other workers, for as long as it can be good.
    async fn hand_on(&self, handed: &Handed) {
        let text = serde_json::to_vec(handed).expect("BUG: a ticket is JSON");
        let (new, path) = (format!("new-{}", handed.name), format!("{FILE}-{}", handed.name));
        let (new, path) = (self.directory().join(new), self.directory().join(path));
        // Under its name it is whole.
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &path))
            .expect("cannot hand on a ticket");
        sleep(PARKED).await;
        let _ = fs::remove_file(path);
    }

    fn handed(&self) -> io::Result<Vec<Handed>> {
        let mut handed = Vec::new();
        for entry in fs::read_dir(self.directory())? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(FILE) {
                // Its time may be over.
                let text = fs::read(entry.path()).unwrap_or_default();
                handed.extend(serde_json::from_slice::<Handed>(&text).ok());
            }
        }
        Ok(handed)
    }

    async fn resume(&self, handed: &Handed, hold: Duration) {
        sleep(Duration::from_nanos(handed.at.saturating_sub(now()))).await;
        let (n, key) = (self.number(), handed.key.clone());
        let ticket: HoldTicket = handed.ticket.parse().expect("BUG: it was a ticket");
        self.write(&Record::Ask {
            n,
            at: now(),
            family: Family::Parked,
            access: Access::Write,
            keys: vec![key.clone()],
            wait: 0,
            lease: nanos(LEASE),
            kept: nanos(LEASE),
        });
        self.write(&Record::Resume { n, ticket: handed.name.clone() });
        let resumed = self.locks.resume(&ticket).await;
        let at = now();
        let why = match resumed {
            Ok(guard) => {
                let held = Held::Lock(guard);
                let (left, tokens) =
                    (nanos(held.remaining()), held.tokens(&Turn::plain(Family::Parked, &key)));
                self.write(&Record::Grant { n, at, left, tokens });
                let mut looked = Looked::begin();
                self.protect(n, &held, &mut looked, sleep(hold)).await;
                return self.let_go(n, held, &looked, true).await;
            }
            Err(ResumeError::Gone { .. }) => Refusal::Gone,
            Err(ResumeError::Unavailable(why)) => unavailable(&why),
            Err(ResumeError::Draining) => Refusal::Draining,
            Err(other) => Refusal::Other(other.to_string()),
        };
        self.write(&Record::Refused { n, at, why });
    }
}
