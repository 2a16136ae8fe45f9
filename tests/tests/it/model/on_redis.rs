//! A real Redis, compared with what was recorded in memory. Its clock cannot be moved: many histories
//! run at once, each on a key of its own and on a grid of time. Leases end in the middle of a step of
//! the grid, so the stores agree if each step is taken soon after its time; a history that was held
//! up shows nothing, and is tried again on a wider grid.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use lock_core::{
    LockClient, Mode,
    test_util::{Answer, Ask, Step},
};
use lock_tests::{LIMIT, RedisServer};
use proptest::{
    prelude::ProptestConfig,
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};

use crate::model::{
    history::{Failure, Family, History, UNIT},
    record::{Recorded, Recording, record},
    seeded,
    subject::{Standing, Subject},
};

/// Histories under way at once, of all families: as many as two busy cores keep in step.
const MOST_AT_ONCE: u32 = 240;
static AT_ONCE: Semaphore = Semaphore::const_new(MOST_AT_ONCE as usize);
/// The widest grid is so many times as wide.
const WIDEST: u32 = 64;
/// How long a shorter history that fails is looked for.
const SHRINKING: Duration = Duration::from_secs(90);
/// How late a message may be before it counts as never sent.
const MESSAGE: Duration = Duration::from_secs(10);

enum Tried {
    Agrees,
    /// The machine was too slow to decide.
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
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), seeded());
    let tree = |_| History::any(family).new_tree(&mut runner).unwrap();
    let mut trees: Vec<_> = (0..histories).map(tree).collect();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start().await;
        let mut recordings = Vec::new();
        for tree in &mut trees {
            match recorded(tree.current()).await {
                Ok(recording) => recordings.push(recording),
                Err(why) => server.shrink(tree, why, 1).await,
            }
        }
        let (mut pending, mut scale): (Vec<_>, _) = ((0..histories).collect(), 1);
        while !pending.is_empty() {
            assert!(scale <= WIDEST, "{} histories were never in step", pending.len());
            let again = pending.iter().map(|at| (*at, recordings[*at].clone()));
            pending = match server.try_all(again, scale).await {
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
        recordings: impl Iterator<Item = (usize, Recording)>,
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
        for (at, recording) in recordings {
            let turn = AT_ONCE.acquire_many(scale.min(16)).await.unwrap();
            let server = self.clone();
            under_way.spawn(async move {
                let tried = server.attempt(&recording, scale).await;
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

    async fn attempt(&self, recording: &Recording, scale: u32) -> Tried {
        let number = self.tries.fetch_add(1, Ordering::Relaxed);
        let unit = UNIT * scale;
        // A step that was answered within this time was taken in time.
        let soon = unit / 2 - Duration::from_millis(5);
        let key = format!("model:{number}");
        let mut subject = Subject::new(&self.client, recording.kind, &key, recording.owners);
        subject.listen().await;
        // Neighbours are spread over a step of the grid.
        let start = Instant::now() + 2 * unit * (number % MOST_AT_ONCE) / MOST_AT_ONCE;
        for recorded in &recording.steps {
            let due = start + unit * u32::try_from(recorded.at).unwrap();
            tokio::time::sleep_until(due).await;
            let before = subject.told();
            let compared = compare(&mut subject, recorded, scale).await;
            if due.elapsed() > soon {
                return Tried::Late;
            }
            if let Err(why) = compared {
                return Tried::Disagrees(recorded.fails(&why));
            }
            if let Some(asleep) = asleep(&subject, recorded, &before).await {
                let why = format!("on Redis, {asleep} can enter now and is not told");
                return Tried::Disagrees(recorded.fails(&why));
            }
        }
        Tried::Agrees
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
            let tried = match recorded(history.clone()).await {
                Ok(recording) => self.attempt(&recording, scale * 2).await,
                Err(why) => Tried::Disagrees(why),
            };
            goes_on = match tried {
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

/// A thread of its own, since the recording has a runtime of its own, whose clock is paused.
async fn recorded(history: History) -> Result<Recording, Failure> {
    tokio::task::spawn_blocking(move || record(&history)).await.unwrap()
}

/// A waiter that had to be woken and was not. A message may be late, too: then so is the next step.
async fn asleep(subject: &Subject, recorded: &Recorded, before: &[u64]) -> Option<usize> {
    let limit = Instant::now() + MESSAGE;
    for waiter in recorded.waiters.iter().filter(|waiter| waiter.must_be_told) {
        while subject.told()[waiter.owner] == before[waiter.owner] {
            if Instant::now() > limit {
                return Some(waiter.owner);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    None
}

/// Takes a step and looks. Returns what differs from what was recorded.
async fn compare(subject: &mut Subject, recorded: &Recorded, scale: u32) -> Result<(), String> {
    let answer = subject.take(recorded.owner, widened(recorded.step, scale)).await?;
    if !same_answer(answer, recorded.answer, scale) {
        return Err(format!("Redis answers {answer:?}, memory {:?} (x {scale})", recorded.answer));
    }
    let standing = subject.standing().await?;
    if !same_standing(&standing, recorded, scale) {
        return Err(format!("Redis has {standing:?}, memory {:?} (x {scale})", recorded.after));
    }
    Ok(())
}

/// The step on a grid so many times as wide.
fn widened(step: Step, scale: u32) -> Step {
    match step {
        Step::Acquire(ask) => Step::Acquire(Ask {
            lease: ask.lease * scale,
            place: ask.place.map(|place| place * scale),
            waited: ask.waited * scale,
            ..ask
        }),
        Step::Renew { mode, lease } => Step::Renew { mode, lease: lease * scale },
        Step::Upgrade { reads, writes, lease } => {
            Step::Upgrade { reads, writes, lease: lease * scale }
        }
        Step::Downgrade { reads, writes, lease } => {
            Step::Downgrade { reads, writes, lease: lease * scale }
        }
        Step::Release { .. } | Step::SetPermits { .. } | Step::TakeAway => step,
    }
}

fn same_time(redis: Duration, memory: Duration, scale: u32) -> bool {
    redis.abs_diff(memory * scale) <= UNIT * scale / 2
}

/// Tokens are numbers of the store; that they grow is seen where they are handed out.
fn same_answer(redis: Answer, memory: Answer, scale: u32) -> bool {
    match (redis, memory) {
        (Answer::Granted { token: one }, Answer::Granted { token: other }) => {
            one.is_some() == other.is_some()
        }
        (
            Answer::TakenAway { was_held: one, token },
            Answer::TakenAway { was_held: other, token: due },
        ) => one == other && token.is_some() == due.is_some(),
        (
            Answer::Busy { remaining: one, in_line },
            Answer::Busy { remaining: other, in_line: stands },
        ) => {
            let same = match (one, other) {
                (Some(one), Some(other)) => same_time(one, other, scale),
                (one, other) => one == other,
            };
            same && in_line == stands
        }
        (
            Answer::Yield { remaining: one, in_line },
            Answer::Yield { remaining: other, in_line: stands },
        ) => same_time(one, other, scale) && in_line == stands,
        _ => redis == memory,
    }
}

fn same_standing(redis: &Standing, recorded: &Recorded, scale: u32) -> bool {
    let memory = &recorded.after;
    let same_holders = redis.holders.len() == memory.holders.len()
        && redis.holders.iter().zip(&memory.holders).all(|(one, other)| {
            let ((one, (reads, writes, left)), (other, expected)) = (one, other);
            one == other
                && (*reads, *writes) == (expected.0, expected.1)
                && same_time(*left, expected.2, scale)
        });
    same_holders
        && redis.mode == memory.mode
        && same_waiters(redis, recorded)
        && redis.free_permits == memory.free_permits
}

/// The place of a waiter for which something was reserved may be over by the time that Redis is looked at.
fn same_waiters(redis: &Standing, recorded: &Recorded) -> bool {
    let stays = |waiter: &&(usize, Mode)| {
        redis.waiters.contains(waiter) || !recorded.told.contains(&waiter.0)
    };
    redis.waiters.iter().eq(recorded.after.waiters.iter().filter(stays))
}
