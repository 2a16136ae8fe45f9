//! The client's background tasks: all on one runtime, started again if they panic.
//!
//! A client lives on the runtime that built it or, if it was built outside any, on the first from
//! which it is used. When that runtime is shut down, its tasks are dropped, and nothing would renew
//! or release locks from then on. So no lock is acquired.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::runtime::Handle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::sync::Mutex;
use crate::types::Unavailable;

/// The pause after a panic.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Default)]
pub struct Tasks {
    runtime: OnceLock<Handle>,
    /// Tasks that wait until there is a runtime.
    unassigned: Mutex<Vec<BoxFuture<'static, ()>>>,
    /// Cancelled when the runtime drops a task that has not come to its end.
    runtime_ended: CancellationToken,
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").finish_non_exhaustive()
    }
}

impl Tasks {
    /// Starts on the current runtime, if there is one.
    pub fn new() -> Arc<Self> {
        let tasks = Arc::new(Self::default());
        tasks.start_unassigned();
        tasks
    }

    /// Makes sure that the tasks run, before the client is used for something that needs them.
    ///
    /// # Errors
    ///
    /// The runtime on which they ran has ended.
    #[inline]
    pub fn attach_runtime(&self) -> Result<(), Unavailable> {
        if self.runtime.get().is_none() {
            self.start_unassigned();
        }
        if self.runtime_ended.is_cancelled() { Err(runtime_ended()) } else { Ok(()) }
    }

    /// Resolves when the runtime has ended.
    pub async fn runtime_ended(&self) -> Unavailable {
        self.runtime_ended.cancelled().await;
        runtime_ended()
    }

    /// Runs a task until it returns. If it panics, it is created again, and must continue where the
    /// last one was dropped.
    pub fn spawn_supervised<F: Future<Output = ()> + Send + 'static>(
        &self,
        task: impl Fn() -> F + Send + 'static,
    ) {
        let ends_early = self.runtime_ended.clone().drop_guard();
        let supervised = supervise(task, ends_early);
        match self.runtime.get() {
            Some(runtime) => drop(runtime.spawn(supervised)),
            None => {
                let mut unassigned = self.unassigned.lock();
                unassigned.push(supervised.boxed());
                drop(unassigned);
                // A runtime may exist by now.
                self.start_unassigned();
            }
        }
    }

    /// [Spawns](Self::spawn_supervised) a task of `owner`, which stays alive as long as the task.
    pub fn spawn_task_of<T: Send + Sync + 'static, F: Future<Output = ()> + Send + 'static>(
        &self,
        owner: &Arc<T>,
        task: impl Fn(Arc<T>) -> F + Send + 'static,
    ) {
        let owner = Arc::clone(owner);
        self.spawn_supervised(move || task(Arc::clone(&owner)));
    }

    fn start_unassigned(&self) {
        if let Ok(current) = Handle::try_current() {
            let _ = self.runtime.set(current);
        }
        let Some(runtime) = self.runtime.get() else { return };
        let mut unassigned = self.unassigned.lock();
        for task in unassigned.drain(..) {
            runtime.spawn(task);
        }
    }
}

async fn supervise<F: Future<Output = ()>>(task: impl Fn() -> F, ends_early: DropGuard) {
    while AssertUnwindSafe(task()).catch_unwind().await.is_err() {
        tracing::error!(target: "lock_core::runtime", "BUG: a background task of the lock client panicked; it starts again");
        tokio::time::sleep(PAUSE).await;
    }
    // The task returned, so its runtime has not ended: do not report that.
    ends_early.disarm();
}

fn runtime_ended() -> Unavailable {
    Unavailable::unsent(
        "the Tokio runtime that this client was built on has ended: build the client on a runtime \
         that lives for as long as the client is used",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::{runtime::Runtime, sync::Notify};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_starts_again() {
        let tasks = Tasks::new();
        let (starts, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let notified = Arc::clone(&done);
        tasks.spawn_supervised(move || {
            let (starts, done) = (Arc::clone(&starts), Arc::clone(&done));
            async move {
                assert!(starts.fetch_add(1, Ordering::SeqCst) > 0, "the first time");
                done.notify_one();
            }
        });
        let again = tokio::time::timeout(PAUSE * 10, notified.notified()).await;
        assert!(again.is_ok() && tasks.attach_runtime().is_ok());
    }

    #[test]
    fn tasks_wait_for_the_first_runtime_and_end_with_it() {
        let tasks = Tasks::new();
        let started = Arc::new(Notify::new());
        let notified = Arc::clone(&started);
        tasks.spawn_supervised(move || {
            let started = Arc::clone(&started);
            async move {
                started.notify_one();
                std::future::pending().await
            }
        });
        let runtime = Runtime::new().expect("a runtime");
        runtime.block_on(async {
            assert!(tasks.attach_runtime().is_ok());
            notified.notified().await;
        });
        assert!(tasks.attach_runtime().is_ok(), "the runtime is still there");
        drop(runtime);
        Runtime::new().expect("another").block_on(async {
            let why = tasks.attach_runtime().expect_err("the runtime has ended");
            assert_eq!(why.to_string(), tasks.runtime_ended().await.to_string());
        });
    }
}
