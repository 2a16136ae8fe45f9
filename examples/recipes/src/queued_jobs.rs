//! A job of `apalis` that every replica's worker gets from its own cron schedule, and that succeeds in one.
//! A run that fails is repeated by the worker's retries, as the next attempt in the same slot.

use std::{
    io,
    time::{Duration, SystemTime},
};

use apalis::prelude::{BoxDynError, Data};
use apalis_cron::Tick;
use lock_tower::{
    LockClient,
    locks::{SlotAttempt, Slots},
};
use tokio::sync::mpsc::UnboundedSender;

/// The slots: the days. They may be longer than the time between two ticks, never shorter.
const DAILY: Slots = Slots::every(Duration::from_secs(24 * 60 * 60));

/// The state that the workers share: the client, and in place of the real work a list of runs.
#[derive(Debug, Clone)]
pub struct Shared {
    /// The locks.
    pub locks: LockClient,
    /// Gets each tick with the number of its attempt, or with 0 if the day's run was another's.
    pub runs: UnboundedSender<(u64, u32)>,
}

/// The work, which fails at its first attempt.
fn report(tick: u64, attempt: &SlotAttempt, shared: &Shared) -> io::Result<()> {
    shared.runs.send((tick, attempt.number())).map_err(io::Error::other)?;
    if attempt.number() == 1 { Err(io::Error::other("the first attempt fails")) } else { Ok(()) }
}

/// The worker's handler. The slot is that of the tick, also if the worker comes to it late: that of a day that
/// has ended is refused, since it is not known any more whether it was run.
///
/// # Errors
///
/// The work failed, or there was no lock: the worker tries again.
pub async fn handle(tick: Tick, shared: Data<Shared>) -> Result<(), BoxDynError> {
    let tick = tick.get_timestamp();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(tick);
    let job = shared.locks.write("daily-report").once_per(DAILY).at(time);
    let outcome = job.run(async |attempt| report(tick, &attempt, &shared)).await?;
    if outcome.ran().is_none() {
        shared.runs.send((tick, 0))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use apalis::{
        layers::{WorkerBuilderExt, retry::RetryPolicy},
        prelude::WorkerBuilder,
    };
    use apalis_cron::CronScheduler;
    use cron::Schedule;
    use lock_tower::MemoryStore;
    use tokio::{sync::mpsc::unbounded_channel, task::JoinSet};

    use super::*;

    /// Spawns a worker with a tick each second.
    fn spawn(workers: &mut JoinSet<()>, name: &str, shared: Shared) {
        let worker = WorkerBuilder::new(name)
            .backend(CronScheduler::new(Schedule::from_str("* * * * * *").unwrap()))
            .retry(RetryPolicy::retries(3))
            .data(shared)
            .build(handle);
        workers.spawn(async move { worker.run().await.unwrap() });
    }

    #[tokio::test]
    async fn of_two_workers_one_succeeds_in_the_second_attempt() {
        let (store, (runs, mut seen)) = (MemoryStore::new(), unbounded_channel());
        let mut workers = JoinSet::new();
        for name in ["one", "two"] {
            let locks = LockClient::builder().in_memory_on(&store);
            spawn(&mut workers, name, Shared { locks, runs: runs.clone() });
        }
        let mut attempts = Vec::new();
        for _ in 0..6 {
            attempts.push(seen.recv().await.unwrap().1);
        }
        attempts.retain(|number| *number > 0);
        assert_eq!(attempts, [1, 2]);
    }

    #[tokio::test]
    async fn a_retry_is_the_next_attempt_of_its_tick() {
        let (locks, (runs, mut seen)) = (LockClient::in_memory(), unbounded_channel());
        let mut workers = JoinSet::new();
        spawn(&mut workers, "one", Shared { locks, runs });
        let (tick, number) = seen.recv().await.unwrap();
        assert_eq!(number, 1);
        assert_eq!(seen.recv().await.unwrap(), (tick, 2));
    }

    #[tokio::test]
    async fn a_tick_is_of_its_own_day_and_a_day_that_has_ended_is_refused() {
        let (locks, (runs, mut seen)) = (LockClient::in_memory(), unbounded_channel());
        let shared = Data::new(Shared { locks, runs });
        let day = 24 * 60 * 60;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let today = now - now % day;
        for (tick, number) in [(today, 1), (today, 2), (today + day - 2, 0), (today + day, 1)] {
            let done = handle(Tick::new(tick), shared.clone()).await;
            assert_eq!(done.is_err(), number == 1);
            assert_eq!(seen.recv().await.unwrap(), (tick, number));
        }
        let refused = handle(Tick::new(today - day), shared.clone()).await.unwrap_err();
        assert!(refused.to_string().contains("has ended for every clock"), "{refused}");
    }
}
