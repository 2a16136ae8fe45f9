//! A real Redis, compared with what was recorded in memory. The test moves its clock: the histories of
//! a batch, each on a key of its own, take their steps of one moment, then the clock jumps to the
//! next. Leases end in the middle of a step of the grid, and a step of the grid is long, so the stores
//! agree if each step is taken soon after its time. A history whose step was late shows nothing, and
//! is tried again.

use std::{collections::BTreeSet, iter::Peekable, slice, time::Duration};

use futures_util::future::join_all;
use lock_core::{
    LockClient, Mode,
    test_util::{Answer, Ask, Step},
};
use lock_tests::{ClockShift, LIMIT, RedisServer, Wire};
use proptest::{
    prelude::ProptestConfig,
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use tokio::time::Instant;

use crate::model::{
    history::{Failure, Family, History, UNIT},
    record::{Recorded, Recording, record},
    seeded,
    subject::{Standing, Subject},
};

/// The grid on Redis is so many times as wide: half a step is ten seconds, while the steps of one
/// moment take some hundredths of a second.
const SCALE: u32 = 100;
/// Histories under way at once in each family.
const BATCH: usize = 200;
/// How often a history that was late is tried.
const TRIES: usize = 10;
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

pub(crate) fn agrees(family: Family, histories: usize) {
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), seeded());
    let tree = |_| History::any(family).new_tree(&mut runner).unwrap();
    let mut trees: Vec<_> = (0..histories).map(tree).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut server = Server::start().await;
        let mut recordings = Vec::new();
        for tree in &mut trees {
            match recorded(tree.current()).await {
                Ok(recording) => recordings.push(recording),
                Err(why) => server.shrink(tree, why).await,
            }
        }
        let mut pending: Vec<usize> = (0..histories).collect();
        for _ in 0..TRIES {
            let mut late = Vec::new();
            for batch in pending.chunks(BATCH) {
                let tried = server.attempt(batch.iter().map(|at| &recordings[*at])).await;
                for (at, tried) in batch.iter().zip(tried) {
                    match tried {
                        Tried::Agrees => {}
                        Tried::Late => late.push(*at),
                        Tried::Disagrees(why) => server.shrink(&mut trees[*at], why).await,
                    }
                }
            }
            if late.is_empty() {
                return;
            }
            eprintln!("{family:?}: {} were late", late.len());
            pending = late;
        }
        panic!("{} histories were never in time", pending.len());
    });
}

struct Server {
    _redis: RedisServer,
    client: LockClient,
    clock: Clock,
    /// The number of the next key.
    key: usize,
}

impl Server {
    async fn start() -> Self {
        let shift = ClockShift::new();
        let redis = shift.of(RedisServer::builder()).start().await;
        // A slow answer is late, not an error. The rules in memory are those of Redisson's wire: on the
        // native one a place counts by its number of arrival alone, not by how long its waiter waits.
        let builder = Wire::Redisson.builder().command_timeout(LIMIT);
        let client = builder.connect(&redis.url()).await.unwrap();
        let clock = Clock { shift, ahead: 0, began: Instant::now(), ahead_then: 0 };
        Self { _redis: redis, client, clock, key: 0 }
    }

    /// Tries each of these histories once.
    async fn attempt(&mut self, recordings: impl Iterator<Item = &Recording>) -> Vec<Tried> {
        let mut moments = BTreeSet::new();
        let mut attempts = Vec::new();
        for recording in recordings {
            moments.extend(recording.steps.iter().map(|recorded| recorded.at));
            let key = format!("model:{}", self.key);
            self.key += 1;
            attempts.push(Attempt {
                subject: Subject::new(&self.client, recording.kind, &key, recording.owners),
                steps: recording.steps.iter().peekable(),
                tried: Tried::Agrees,
            });
        }
        join_all(attempts.iter_mut().map(|attempt| attempt.subject.listen())).await;
        self.clock.begin();
        for at in moments {
            self.clock.jump_to(at);
            join_all(attempts.iter_mut().map(|attempt| attempt.step(at, &self.clock))).await;
        }
        attempts.into_iter().map(|attempt| attempt.tried).collect()
    }

    /// Finds a short history that fails, and fails with it.
    async fn shrink(&mut self, tree: &mut impl ValueTree<Value = History>, why: Failure) -> ! {
        let mut shortest = (tree.current().until_it_fails(&why), why);
        eprintln!("{}\n{}looking for a shorter one", shortest.1, shortest.0);
        let enough = Instant::now() + SHRINKING;
        let mut goes_on = tree.simplify();
        while goes_on && Instant::now() < enough {
            let history = tree.current();
            let tried = match recorded(history.clone()).await {
                Ok(recording) => self.attempt([&recording].into_iter()).await.remove(0),
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

/// The clock of one Redis, which never goes back: it runs with the machine's, and jumps ahead.
struct Clock {
    shift: ClockShift,
    /// By how many seconds it is ahead of the machine's.
    ahead: i64,
    /// When the present batch began, and by how much the clock was ahead then.
    began: Instant,
    ahead_then: i64,
}

impl Clock {
    fn begin(&mut self) {
        (self.began, self.ahead_then) = (Instant::now(), self.ahead);
    }

    /// Jumps to a moment of the present batch. Whole seconds: it may come there a second late.
    fn jump_to(&mut self, at: u64) {
        let left = due(at).saturating_sub(self.now());
        self.ahead += i64::try_from(left.as_secs() + u64::from(left.subsec_nanos() > 0)).unwrap();
        self.shift.by(self.ahead);
    }

    /// The time of the present batch.
    fn now(&self) -> Duration {
        let jumped = u64::try_from(self.ahead - self.ahead_then).expect("it never goes back");
        self.began.elapsed() + Duration::from_secs(jumped)
    }

    /// Whether the times that stores show may differ by more than [`same_time`] lets pass, after a step
    /// of this moment.
    fn is_late(&self, at: u64) -> bool {
        self.now() + Duration::from_millis(5) > due(at) + UNIT * SCALE / 2
    }
}

fn due(at: u64) -> Duration {
    UNIT * SCALE * u32::try_from(at).unwrap()
}

/// One history on its way.
struct Attempt<'a> {
    subject: Subject,
    steps: Peekable<slice::Iter<'a, Recorded>>,
    tried: Tried,
}

impl Attempt<'_> {
    /// Takes its step of this moment, if it has one.
    async fn step(&mut self, at: u64, clock: &Clock) {
        if !matches!(self.tried, Tried::Agrees) {
            return;
        }
        let Some(recorded) = self.steps.next_if(|recorded| recorded.at == at) else { return };
        let before = self.subject.reported();
        let compared = compare(&mut self.subject, recorded).await;
        self.tried = if clock.is_late(at) {
            Tried::Late
        } else if let Err(why) = compared {
            Tried::Disagrees(recorded.fails(&why))
        } else if let Some(asleep) = asleep(&self.subject, recorded, &before).await {
            let why = format!("on Redis, {asleep} can enter now and is not reported");
            Tried::Disagrees(recorded.fails(&why))
        } else {
            Tried::Agrees
        };
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
        while subject.reported()[waiter.owner] == before[waiter.owner] {
            if Instant::now() > limit {
                return Some(waiter.owner);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    None
}

/// Takes a step and looks. Returns what differs from what was recorded.
async fn compare(subject: &mut Subject, recorded: &Recorded) -> Result<(), String> {
    let answer = subject.take(recorded.owner, widened(recorded.step)).await?;
    if !same_answer(answer, recorded.answer) {
        return Err(format!("Redis answers {answer:?}, memory {:?} (x {SCALE})", recorded.answer));
    }
    let standing = subject.standing().await?;
    if !same_standing(&standing, recorded) {
        return Err(format!("Redis has {standing:?}, memory {:?} (x {SCALE})", recorded.after));
    }
    Ok(())
}

/// The step on the wider grid.
fn widened(step: Step) -> Step {
    match step {
        Step::Acquire(ask) => Step::Acquire(Ask {
            lease: ask.lease * SCALE,
            place: ask.place.map(|place| place * SCALE),
            waited: ask.waited * SCALE,
            ..ask
        }),
        Step::Renew { mode, lease } => Step::Renew { mode, lease: lease * SCALE },
        Step::Upgrade { reads, writes, lease } => {
            Step::Upgrade { reads, writes, lease: lease * SCALE }
        }
        Step::Downgrade { reads, writes, lease } => {
            Step::Downgrade { reads, writes, lease: lease * SCALE }
        }
        Step::Release { .. }
        | Step::FreePermits { .. }
        | Step::SetPermits { .. }
        | Step::TakeAway => step,
    }
}

fn same_time(redis: Duration, memory: Duration) -> bool {
    redis.abs_diff(memory * SCALE) <= UNIT * SCALE / 2
}

/// Tokens are numbers of the store; that they grow is seen where they are handed out.
fn same_answer(redis: Answer, memory: Answer) -> bool {
    match (redis, memory) {
        (Answer::Granted { token: one }, Answer::Granted { token: other }) => {
            one.is_some() == other.is_some()
        }
        (
            Answer::TakenAway { was_held: one, token },
            Answer::TakenAway { was_held: other, token: due },
        ) => {
            // Redisson's wire knows that a free lock was a semaphore, which has no tokens.
            one == other && (!one || token.is_some() == due.is_some())
        }
        (
            Answer::Busy { remaining: one, in_line },
            Answer::Busy { remaining: other, in_line: stands },
        ) => {
            let same = match (one, other) {
                (Some(one), Some(other)) => same_time(one, other),
                (one, other) => one == other,
            };
            same && in_line == stands
        }
        (
            Answer::Yield { remaining: one, in_line },
            Answer::Yield { remaining: other, in_line: stands },
        ) => same_time(one, other) && in_line == stands,
        _ => redis == memory,
    }
}

fn same_standing(redis: &Standing, recorded: &Recorded) -> bool {
    let memory = &recorded.after;
    let same_holders = redis.holders.len() == memory.holders.len()
        && redis.holders.iter().zip(&memory.holders).all(|(one, other)| {
            let ((one, (reads, writes, left)), (other, expected)) = (one, other);
            one == other
                && (*reads, *writes) == (expected.0, expected.1)
                && same_time(*left, expected.2)
        });
    same_holders && redis.mode == memory.mode && same_waiters(redis, recorded)
}

/// The place of a waiter for which something was reserved may be over by the time that Redis is looked at.
fn same_waiters(redis: &Standing, recorded: &Recorded) -> bool {
    let stays = |waiter: &&(usize, Mode)| {
        redis.waiters.contains(waiter) || !recorded.reported.contains(&waiter.0)
    };
    redis.waiters.iter().eq(recorded.after.waiters.iter().filter(stays))
}
