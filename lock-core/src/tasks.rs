//! Background tasks that outlive the runtime that started them.
//!
//! A client may be used from several Tokio runtimes (each `#[tokio::test]` has its own). A task
//! runs on one of those that the client has been used from; when that runtime is shut down, the
//! task starts again on another one, or on the next from which the client is used.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::runtime::{Handle, Id};

/// Makes the task anew; it must pick up where the last one was dropped.
type Task = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// More runtimes than this are not remembered: the oldest are the likeliest to be gone.
const MOST_RUNTIMES: usize = 8;

#[derive(Default)]
pub(crate) struct Tasks {
    runtimes: Mutex<Vec<Handle>>,
    /// Tasks for which there is no runtime now.
    orphans: Mutex<Vec<Task>>,
    any_orphans: AtomicBool,
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").finish_non_exhaustive()
    }
}

impl Tasks {
    /// Remembers the current runtime, if there is one, and starts what has none.
    pub(crate) fn enter(self: &Arc<Self>) {
        let Ok(current) = Handle::try_current() else {
            return;
        };
        {
            let mut runtimes = lock(&self.runtimes);
            if runtimes.last().is_none_or(|last| last.id() != current.id()) {
                runtimes.retain(|known| known.id() != current.id());
                if runtimes.len() == MOST_RUNTIMES {
                    runtimes.remove(0);
                }
                runtimes.push(current);
            }
        }
        if self.any_orphans.swap(false, Ordering::AcqRel) {
            let orphans = std::mem::take(&mut *lock(&self.orphans));
            for task in orphans {
                self.start(task);
            }
        }
    }

    /// Runs a task until it ends by itself.
    pub(crate) fn keep(
        self: &Arc<Self>,
        task: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) {
        self.start(Arc::new(task));
    }

    fn start(self: &Arc<Self>, task: Task) {
        let runtimes = lock(&self.runtimes);
        let Some(runtime) = runtimes.last().cloned() else {
            lock(&self.orphans).push(task);
            self.any_orphans.store(true, Ordering::Release);
            return;
        };
        drop(runtimes);
        let mut kept = Kept { tasks: Arc::downgrade(self), runtime: runtime.id(), task };
        runtime.spawn(async move {
            let kept = &mut kept;
            while AssertUnwindSafe((kept.task)()).catch_unwind().await.is_err() {
                tracing::error!(
                    "BUG: a background task of the lock client panicked; it starts again"
                );
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            kept.tasks = Weak::new();
        });
    }
}

/// Notices that a task was dropped before its end, with its runtime.
struct Kept {
    /// Nothing once the task has ended by itself.
    tasks: Weak<Tasks>,
    runtime: Id,
    task: Task,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(tasks) = self.tasks.upgrade() {
            lock(&tasks.runtimes).retain(|known| known.id() != self.runtime);
            tasks.start(Arc::clone(&self.task));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::{runtime::Runtime, sync::mpsc};

    use super::*;

    #[test]
    fn a_task_moves_to_another_runtime_when_its_own_ends() {
        let tasks = Arc::new(Tasks::default());
        let starts = Arc::new(AtomicUsize::new(0));
        let (ask, asked) = mpsc::unbounded_channel::<std::sync::mpsc::Sender<usize>>();
        let asked = Arc::new(tokio::sync::Mutex::new(asked));
        let task = {
            let starts = Arc::clone(&starts);
            move || {
                let (starts, asked) = (Arc::clone(&starts), Arc::clone(&asked));
                Box::pin(async move {
                    let start = starts.fetch_add(1, Ordering::SeqCst) + 1;
                    while let Some(answer) = asked.lock().await.recv().await {
                        answer.send(start).expect("somebody asked");
                    }
                }) as BoxFuture<'static, ()>
            }
        };
        let answer = || {
            let (sender, receiver) = std::sync::mpsc::channel();
            ask.send(sender).expect("the task listens");
            receiver.recv_timeout(std::time::Duration::from_secs(10)).expect("an answer")
        };

        let (first, second) =
            (Runtime::new().expect("a runtime"), Runtime::new().expect("another"));
        first.block_on(async { tasks.enter() });
        tasks.keep(task);
        assert_eq!(answer(), 1);
        second.block_on(async { tasks.enter() });
        assert_eq!(answer(), 1, "it stays where it is");
        drop(first);
        assert_eq!(answer(), 2, "its runtime is gone: it goes on in the other");
        drop(second);
        let third = Runtime::new().expect("a third");
        third.block_on(async { tasks.enter() });
        assert_eq!(answer(), 3, "it waited for a runtime");
    }
}
