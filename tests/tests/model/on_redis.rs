//! A real Redis, whose clock nobody moves: many histories at once, each on a key of its own and on a
//! grid of time. Leases end in the middle of a step of the grid, so a store is right if each step is
//! taken soon after its time; a history that was held up says nothing, and is tried again on a wider
//! grid.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use lock_core::LockClient;
use lock_tests::{LIMIT, RedisServer};
use proptest::{
    prelude::ProptestConfig,
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};

use crate::{
    compare::Subject,
    history::{Failure, Family, History},
    plan::{Plan, Planned, plan},
    seeded,
};

/// Histories under way at once, of all families: as many as two busy cores keep in step.
const MOST_AT_ONCE: u32 = 240;
static AT_ONCE: Semaphore = Semaphore::const_new(MOST_AT_ONCE as usize);
/// Half a step of the narrowest grid.
const UNIT: Duration = Duration::from_millis(100);
/// The widest grid is so many times as wide.
const WIDEST: u32 = 64;
/// How long a shorter history that fails is looked for.
const SHRINKING: Duration = Duration::from_secs(90);
/// How late a message may be before it counts as never sent.
const MESSAGE: Duration = Duration::from_secs(10);

enum Tried {
    Agrees,
    /// The machine was too slow to say.
    Late,
    Disagrees(Failure),
}

#[derive(Clone)]
struct Server {
    _redis: Arc<RedisServer>,
    client: LockClient,
    tries: Arc<AtomicU32>,
}

pub(crate) fn agrees(family: Family, histories: usize) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start().await;
        let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), seeded());
        let tree = |_| History::any(family).new_tree(&mut runner).unwrap();
        let mut trees: Vec<_> = (0..histories).map(tree).collect();
        let (mut pending, mut scale): (Vec<_>, _) = ((0..histories).collect(), 1);
        while !pending.is_empty() {
            assert!(scale <= WIDEST, "{} histories were never in step", pending.len());
            let plans = pending.into_iter().map(|at| (at, plan(&trees[at].current())));
            pending = match server.try_all(plans, scale).await {
                Ok(late) => late,
                Err((at, why)) => server.shrink(&mut trees[at], why, scale).await,
            };
            eprintln!("{family:?}: {} held up", pending.len());
            scale *= 2;
        }
    });
}

impl Server {
    async fn start() -> Self {
        let redis = RedisServer::start().await;
        // A slow answer is late, not an error.
        let builder = LockClient::builder().command_timeout(LIMIT);
        let client = builder.connect(&redis.url()).await.unwrap();
        Self { _redis: Arc::new(redis), client, tries: Arc::default() }
    }

    /// Tries each once. Gives back those that were late, or the first that disagrees.
    async fn try_all(
        &self,
        plans: impl Iterator<Item = (usize, Plan)>,
        scale: u32,
    ) -> Result<Vec<usize>, (usize, Failure)> {
        let (mut under_way, mut late) = (JoinSet::new(), Vec::new());
        let mut done = |(at, tried)| match tried {
            Tried::Agrees => Ok(()),
            Tried::Late => {
                late.push(at);
                Ok(())
            }
            Tried::Disagrees(why) => Err((at, why)),
        };
        for (at, plan) in plans {
            let turn = AT_ONCE.acquire_many(scale.min(16)).await.unwrap();
            let server = self.clone();
            under_way.spawn(async move {
                let tried = server.attempt(&plan, scale).await;
                drop(turn);
                (at, tried)
            });
            while let Some(tried) = under_way.try_join_next() {
                done(tried.unwrap())?;
            }
        }
        while let Some(tried) = under_way.join_next().await {
            done(tried.unwrap())?;
        }
        Ok(late)
    }

    async fn attempt(&self, plan: &Plan, scale: u32) -> Tried {
        let number = self.tries.fetch_add(1, Ordering::Relaxed);
        let unit = UNIT * scale;
        // A step that was answered within this time was taken in time.
        let soon = unit / 2 - Duration::from_millis(5);
        let times = (unit, unit / 2);
        let key = format!("model:{number}");
        let mut subject = Subject::new(&self.client, plan.kind, &key, plan.owners, times);
        for owner in &mut subject.owners {
            owner.listens().await;
        }
        // Neighbours are spread over a step of the grid.
        let start = Instant::now() + 2 * unit * (number % MOST_AT_ONCE) / MOST_AT_ONCE;
        let mut told_before: Option<(&Planned, Vec<u64>)> = None;
        for planned in &plan.steps {
            let due = start + unit * u32::try_from(planned.at).unwrap();
            tokio::time::sleep_until(due).await;
            if let Some((earlier, told)) = told_before.take()
                && let Some(asleep) = asleep(&subject, earlier, &told)
            {
                return never_told(&subject, earlier, &told, asleep).await;
            }
            let told = subject.told();
            let answered = subject.take(planned).await;
            if due.elapsed() > soon {
                return Tried::Late;
            }
            if let Err(why) = answered {
                return Tried::Disagrees(Failure::new(planned, &why));
            }
            told_before = Some((planned, told));
        }
        match told_before {
            Some((last, told)) => never_told(&subject, last, &told, usize::MAX).await,
            None => Tried::Agrees,
        }
    }

    /// Finds a short history that fails, and fails with it.
    async fn shrink(
        &self,
        tree: &mut impl ValueTree<Value = History>,
        why: Failure,
        scale: u32,
    ) -> ! {
        let mut shortest = (tree.current().until_it_fails(&why), why);
        eprintln!("{}\n{}looking for a shorter one", shortest.1, shortest.0);
        let enough = Instant::now() + SHRINKING;
        let mut goes_on = tree.simplify();
        while goes_on && Instant::now() < enough {
            let history = tree.current();
            goes_on = match self.attempt(&plan(&history), scale * 2).await {
                Tried::Disagrees(why) => {
                    shortest = (history.until_it_fails(&why), why);
                    tree.simplify()
                }
                Tried::Agrees | Tried::Late => tree.complicate(),
            };
        }
        panic!("{}\n{}", shortest.1, shortest.0);
    }
}

/// One that can enter since that step and was not told so.
fn asleep(subject: &Subject, planned: &Planned, told: &[u64]) -> Option<usize> {
    let now = subject.told();
    planned.told.iter().copied().find(|owner| now[*owner] == told[*owner])
}

/// A message may be late, too.
async fn never_told(subject: &Subject, planned: &Planned, told: &[u64], before: usize) -> Tried {
    let limit = Instant::now() + MESSAGE;
    while let Some(owner) = asleep(subject, planned, told) {
        if Instant::now() > limit {
            return Tried::Disagrees(Failure::new(
                planned,
                &format!("{owner} can enter and is not told"),
            ));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    if before == usize::MAX { Tried::Agrees } else { Tried::Late }
}
