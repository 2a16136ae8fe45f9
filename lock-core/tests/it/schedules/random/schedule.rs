//! One schedule from its seed to its end.

use std::{
    ops::AddAssign,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use lock_conformance::faulty;
use lock_core::{
    Kind, LockClient, LockClientBuilder, MemoryStore, RedLock, test_util::red_lock_of,
};
use tokio::{runtime, task::JoinSet, time::sleep};

use super::{
    actor::Actor,
    link::{LATEST, Link, ROUND_TRIP},
    plan::{COMMAND_TIMEOUT, KEYS, LONGEST_LEASE, Plan},
    promises::Promises,
    seeded::Seeded,
};
use crate::schedules::two_clients::free;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Good,
    Bad,
    /// Faulty links, and mostly readers of one process at the same time.
    Readers,
    /// Faulty links, and clients and machines that end.
    Ends,
}

/// The outcomes of the acquisitions of a schedule, or of many.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Report {
    pub(super) schedules: u64,
    pub(super) granted: u64,
    pub(super) busy: u64,
    pub(super) unavailable: u64,
    pub(super) lost: u64,
    pub(super) draining: u64,
    pub(super) dropped: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, more: Self) {
        self.schedules += more.schedules;
        self.granted += more.granted;
        self.busy += more.busy;
        self.unavailable += more.unavailable;
        self.lost += more.lost;
        self.draining += more.draining;
        self.dropped += more.dropped;
    }
}

/// The state that the actors of one process share.
pub(super) struct Process {
    pub(super) kinds: [Kind; KEYS.len()],
    pub(super) client: LockClient,
    pub(super) red_lock: RedLock,
    draining: AtomicBool,
}

impl Process {
    pub(super) fn drains(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

pub(super) fn run(family: Family, seed: u64) -> Report {
    let runtime = runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.unwrap();
    let report = runtime.block_on(play(family, seed));
    let left = runtime.metrics().num_alive_tasks();
    assert_eq!(left, 0, "tasks are left when everything is gone");
    report
}

fn builder() -> LockClientBuilder {
    LockClient::builder().command_timeout(COMMAND_TIMEOUT).lease(LONGEST_LEASE)
}

async fn play(family: Family, seed: u64) -> Report {
    let mut drawn = Seeded::new(seed);
    let plan = match family {
        Family::Readers => Plan::of_readers(&mut drawn),
        _ => Plan::of(&mut drawn, family == Family::Ends),
    };
    // The store of the locks, and three for a majority.
    let stores: [MemoryStore; 4] = std::array::from_fn(|_| MemoryStore::new());
    let judges = stores.each_ref().map(|store| builder().in_memory_on(store));
    let mut links = Vec::new();
    let mut processes = Vec::new();
    for _ in &plan.actions {
        let clients = stores.each_ref().map(|store| {
            let drawn = drawn.apart();
            let link = if family == Family::Good { Link::good(drawn) } else { Link::bad(drawn) };
            let link = Arc::new(link);
            links.push(Arc::clone(&link));
            faulty(builder(), store, link)
        });
        let [client, servers @ ..] = clients;
        let red_lock = red_lock_of(servers.into()).await.unwrap();
        let draining = AtomicBool::new(false);
        processes.push(Arc::new(Process { kinds: plan.kinds, client, red_lock, draining }));
    }
    // Timers do not notice that a machine is suspended; those of leases check every second.
    let tolerance = if family == Family::Ends { 1_003 } else { 3 };
    let tolerance = Duration::from_millis(tolerance);
    let promises = Arc::new(Promises::new(judges[0].clone(), plan.kinds, tolerance));

    let mut actors = JoinSet::new();
    for ((process, actions), place) in processes.iter().zip(plan.actions).zip(0..) {
        for (actions, at) in actions.into_iter().zip(1..) {
            let number = Promises::actor(place, at);
            actors.spawn(Actor::new(number, process, &promises).act(actions));
        }
    }
    let mut report = Report { schedules: 1, ..Report::default() };
    for of_one in actors.join_all().await {
        report += of_one;
    }

    end(family, &mut drawn, &links, &processes, &judges).await;
    promises.watched_to_the_end().await;
    drop((promises, processes, links, judges));
    sleep(LONGEST_LEASE * 2).await;
    report
}

/// Everything was dropped: nothing is left of it.
async fn end(
    family: Family,
    drawn: &mut Seeded,
    links: &[Arc<Link>],
    processes: &[Arc<Process>],
    judges: &[LockClient],
) {
    let judges: Vec<_> = judges.iter().collect();
    if family == Family::Good {
        let took = free("the good", &[], &judges).await;
        assert!(took <= ROUND_TRIP * 5, "{took:?}");
    } else if drawn.percent(50) {
        // Whatever the outcome of the releases.
        sleep(LATEST + LONGEST_LEASE).await;
        assert_eq!(free("leases are over", &[], &judges).await, Duration::ZERO);
    }
    links.iter().for_each(|link| link.mend());
    let clients = processes.iter().map(|process| &process.client);
    let servers = processes.iter().flat_map(|process| process.red_lock.servers());
    let all: Vec<_> = clients.chain(servers).collect();
    let took = free("links are good again", &all, &judges).await;
    assert!(took <= LATEST + LONGEST_LEASE, "{took:?}");
}
