//! A job that `tokio-cron-scheduler` starts in every replica, and that runs in one.

use std::sync::Arc;

use lock_tower::{LockClient, LockError, distributed_lock, locks::SlotAttempt};
use tokio::sync::mpsc::UnboundedSender;
use tokio_cron_scheduler::{Job, JobSchedulerError};

/// The work, once a day: `None` if another replica does it or has done it. An error leaves the day to the
/// next call, so let the timer fire more often than once a day.
#[distributed_lock(key = "daily-report", client = locks, once_per = "24h")]
async fn daily_report(locks: &LockClient) -> Result<Option<String>, LockError> {
    let attempt = SlotAttempt::current().map_or(1, |attempt| attempt.number());
    Ok(Some(format!("attempt {attempt}")))
}

/// Each replica adds this job to its scheduler. The outcome of each call goes to `done`.
///
/// # Errors
///
/// The schedule is not valid.
pub fn job(
    locks: LockClient,
    schedule: &str,
    done: UnboundedSender<Result<Option<String>, Arc<LockError>>>,
) -> Result<Job, JobSchedulerError> {
    Job::new_async(schedule, move |_, _| {
        let (locks, done) = (locks.clone(), done.clone());
        Box::pin(async move {
            // A service that does not listen any more needs no outcome.
            let _ = done.send(daily_report(&locks).await.map_err(Arc::new));
        })
    })
}

#[cfg(test)]
mod tests {
    use lock_tower::MemoryStore;
    use tokio::sync::mpsc::unbounded_channel;
    use tokio_cron_scheduler::JobScheduler;

    use super::*;

    #[tokio::test]
    async fn three_schedulers_run_it_once() {
        let (store, (done, mut outcomes)) = (MemoryStore::new(), unbounded_channel());
        let mut schedulers = Vec::new();
        for _ in 0..3 {
            let locks = LockClient::builder().in_memory_on(&store);
            let scheduler = JobScheduler::new().await.unwrap();
            scheduler.add(job(locks, "* * * * * *", done.clone()).unwrap()).await.unwrap();
            scheduler.start().await.unwrap();
            schedulers.push(scheduler);
        }
        let mut ran = Vec::new();
        for _ in 0..2 * schedulers.len() {
            ran.extend(outcomes.recv().await.unwrap().unwrap());
        }
        assert_eq!(ran, ["attempt 1"]);
    }
}
