//! Clients under load: tasks that acquire, work and release, until they are stopped.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use lock_core::{Acquire, AcquireError, LockClient, ReleaseError};
use lock_tests::{LIMIT, eventually};
use tokio::task::JoinSet;

use crate::deployments::zookeeper::{
    client,
    resource::{Resource, Visit},
};

const CLIENTS: usize = 4;
const WAIT: Duration = Duration::from_secs(20);

/// What tasks of each client do, each at its own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Reentrant,
    Fair,
    Read,
    Write,
    Permit,
}

/// Readers and writers work at the same key.
const JOBS: [(Job, &str); 6] = [
    (Job::Reentrant, "reentrant"),
    (Job::Fair, "fair"),
    (Job::Read, "read-write"),
    (Job::Read, "read-write"),
    (Job::Write, "read-write"),
    (Job::Permit, "permit"),
];

pub(super) struct Crowd {
    clients: Vec<LockClient>,
    shared: Arc<Shared>,
    tasks: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    /// One for each key.
    resources: [Arc<Resource>; 4],
    /// How often each task was granted its lock.
    grants: Vec<AtomicU64>,
    losses: AtomicU64,
    stop: AtomicBool,
}

/// What the crowd has seen.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) grants: u64,
    pub(super) losses: u64,
    pub(super) wrongs: Vec<String>,
}

impl Crowd {
    pub(super) async fn start(url: &str, lease: Duration) -> Self {
        let tasks = CLIENTS * JOBS.len();
        let grants = (0..tasks).map(|_| AtomicU64::new(0)).collect();
        let shared = Arc::new(Shared { grants, ..Shared::default() });
        let mut crowd = Self { clients: Vec::new(), shared, tasks: JoinSet::new() };
        for number in 0..tasks {
            if number % JOBS.len() == 0 {
                crowd.clients.push(client(url, lease).await);
            }
            let client = crowd.clients[number / JOBS.len()].clone();
            crowd.tasks.spawn(work(Arc::clone(&crowd.shared), client, number));
        }
        crowd
    }

    /// Returns when every task has been granted its lock once more.
    pub(super) async fn goes_on(&self) {
        let count = |grants: &AtomicU64| grants.load(Ordering::Relaxed);
        let before: Vec<_> = self.shared.grants.iter().map(count).collect();
        eventually("every task to be granted its lock again", 2 * LIMIT, async || {
            self.shared.grants.iter().zip(&before).all(|(now, before)| count(now) > *before)
        })
        .await;
    }

    /// Ends all work and all clients.
    pub(super) async fn stop(self) -> Report {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.tasks.join_all().await;
        for client in &self.clients {
            client.shutdown(LIMIT).await.unwrap();
        }
        let resources = &self.shared.resources;
        Report {
            grants: resources.iter().map(|resource| resource.grants()).sum(),
            losses: self.shared.losses.load(Ordering::Relaxed),
            wrongs: resources.iter().flat_map(|resource| resource.wrongs()).collect(),
        }
    }
}

impl Shared {
    fn resource(&self, key: &str) -> &Arc<Resource> {
        let keys = ["reentrant", "fair", "read-write", "permit"];
        let at = keys.iter().position(|known| *known == key).expect("BUG: a key of the jobs");
        &self.resources[at]
    }

    fn lost(&self) {
        self.losses.fetch_add(1, Ordering::Relaxed);
    }
}

async fn work(shared: Arc<Shared>, client: LockClient, number: usize) {
    let (job, key) = JOBS[number % JOBS.len()];
    while !shared.stop.load(Ordering::Relaxed) {
        let granted = match job {
            Job::Reentrant => locked(&shared, client.reentrant(key), key, job).await,
            Job::Fair => locked(&shared, client.fair(key), key, job).await,
            Job::Read => locked(&shared, client.read(key), key, job).await,
            Job::Write => locked(&shared, client.write(key), key, job).await,
            Job::Permit => permitted(&shared, &client, key).await,
        };
        match granted {
            Ok(()) => {
                shared.grants[number].fetch_add(1, Ordering::Relaxed);
            }
            Err(AcquireError::Busy(_) | AcquireError::Unavailable(_)) => {}
            Err(other) => panic!("{job:?}: {other}"),
        }
    }
}

async fn locked(shared: &Shared, lock: Acquire, key: &str, job: Job) -> Result<(), AcquireError> {
    let guard = lock.wait(WAIT).acquire().await?;
    let (view, token) = (guard.view(), guard.fencing_token().get());
    let visit = shared.resource(key).enter(job == Job::Read, Some(token), move || view.is_held());
    if guard.protect(stay(visit)).await.is_err() {
        shared.lost();
    }
    settle(shared, guard.release().await);
    Ok(())
}

/// Of the only permit: a mutex.
async fn permitted(shared: &Shared, client: &LockClient, key: &str) -> Result<(), AcquireError> {
    let guard = Arc::new(client.semaphore(key, 1).permit().wait(WAIT).acquire().await?);
    let permit = Arc::clone(&guard);
    let visit = shared.resource(key).enter(false, None, move || permit.is_held());
    if guard.protect(stay(visit)).await.is_err() {
        shared.lost();
    }
    let guard = Arc::into_inner(guard).expect("BUG: the visit is over");
    settle(shared, guard.release().await);
    Ok(())
}

/// The work: some milliseconds at the resource.
async fn stay(_visit: Visit) {
    tokio::time::sleep(Duration::from_millis(fastrand::u64(1..4))).await;
}

fn settle(shared: &Shared, released: Result<(), ReleaseError>) {
    match released {
        Ok(()) | Err(ReleaseError::Unavailable(_)) => {}
        Err(ReleaseError::Lost(_)) => shared.lost(),
        Err(other) => panic!("{other}"),
    }
}
