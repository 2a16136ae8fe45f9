//! The critical section: checks its guard repeatedly, as careful work does.

use std::{future::Future, pin::pin, time::Duration};

use lock_core::LockView;
use tokio::time::sleep;

use super::{Worker, held::Held};
use crate::{
    clock::{MS, Nanos, nanos, now},
    history::{Ending, Record},
};

/// From one look to the next.
const LOOK: Duration = Duration::from_millis(1);
/// A long hold is written down so often, in case its process is killed.
const WRITE: Nanos = 20 * MS;

/// How a hold stands after some work.
#[derive(Debug)]
pub(super) struct Looked {
    /// The last look that found it held; zero before the first one, which a process that is stopped right
    /// after a grant makes when the lease is over.
    pub(super) last: Nanos,
    /// Until when the hold would be relied upon, as reported then.
    pub(super) deadline: Nanos,
    /// When the loss was noticed, and its reported cause.
    pub(super) lost: Option<(Nanos, String)>,
    /// Whether it ends because a newer caller requested it.
    pub(super) replaced: bool,
}

impl Looked {
    pub(super) fn begin() -> Self {
        Self { last: 0, deadline: now(), lost: None, replaced: false }
    }

    /// Waits for `work` that borrows the guard itself, and looks through a view meanwhile.
    ///
    /// The lease is renewed while it waits. A loss afterwards is late only if it comes after the
    /// deadline of the last renewal, so the deadline moves with each look. `last` does not: what
    /// the guard says during a change of mode counts for neither mode.
    pub(super) async fn unless_lost(&mut self, view: &LockView, work: impl Future<Output = ()>) {
        let (mut lost, mut work) = (view.lost(), pin!(work));
        loop {
            tokio::select! {
                biased;
                lost = &mut lost => {
                    self.lost = Some((now(), format!("{:?}", lost.cause())));
                    return;
                }
                () = &mut work => return,
                () = sleep(LOOK) => {
                    if view.is_held() {
                        self.deadline = now() + nanos(view.remaining());
                    }
                }
            }
        }
    }

    /// The record that ends the hold.
    pub(super) fn end(&self, n: u64, otherwise: Ending) -> Record {
        let (at, how) = match &self.lost {
            Some((at, cause)) => (*at, Ending::Lost(cause.clone())),
            None => (now(), otherwise),
        };
        Record::End { n, last: self.last, at, deadline: self.deadline, how }
    }
}

/// A hold whose end is written down whenever its work ends or is dropped.
pub(super) struct Recorded<'a> {
    worker: &'a Worker,
    n: u64,
    pub(super) looked: Looked,
}

impl<'a> Recorded<'a> {
    pub(super) fn begin(worker: &'a Worker, n: u64) -> Self {
        Self { worker, n, looked: Looked::begin() }
    }
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        self.worker.write(&self.looked.end(self.n, Ending::Dropped));
    }
}

impl Worker {
    /// Works as long as the guard reports that it is held.
    pub(super) async fn protect(
        &self,
        n: u64,
        held: &Held,
        looked: &mut Looked,
        work: impl Future<Output = ()>,
    ) {
        let mut work = pin!(work);
        let mut lost = held.lost();
        let mut written = now();
        loop {
            // Before the check: its result was true at this moment at the earliest.
            let at = now();
            if !held.is_held() {
                looked.lost = Some((now(), "a look".to_owned()));
                return;
            }
            looked.last = at;
            let left = nanos(held.remaining());
            looked.deadline = now() + left;
            if at > written + WRITE {
                written = at;
                self.write(&Record::Look { n, at, left });
            }
            tokio::select! {
                biased;
                lost = &mut lost => {
                    looked.lost = Some((now(), format!("{:?}", lost.cause())));
                    return;
                }
                () = &mut work => break,
                () = sleep(LOOK) => {}
            }
        }
        let at = now();
        if held.is_held() {
            looked.last = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        path::PathBuf,
        sync::atomic::{AtomicBool, AtomicU64},
    };

    use lock_core::LockClient;

    use super::*;
    use crate::{
        check::{self, Evidence, Past},
        deployment::Sort,
        history::Log,
        keys::Family,
        nemesis::Life,
        resource::Tally,
        worker::turn::Turn,
    };

    const LEASE: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn a_loss_in_a_long_change_of_mode_counts_from_the_last_renewal() {
        let directory = tempfile::tempdir().expect("a directory");
        let history = directory.path().join("history");
        let worker = Worker {
            locks: LockClient::in_memory(),
            log: Log::create(&history).expect("a history"),
            url: String::new(),
            wire: lock_tests::Wire::Native,
            session_lease: None,
            resource: PathBuf::new(),
            place: 0,
            next: AtomicU64::new(0),
            finishing: AtomicBool::new(false),
        };
        let key = Family::ReadWrite.key(0);
        let turn = Turn { lease: LEASE, ..Turn::plain(Family::ReadWrite, &key) };
        let (n, held) = worker.acquire(&turn, None).await.expect("it is free");
        let mut looked = Looked::begin();
        worker.protect(n, &held, &mut looked, sleep(LOOK)).await;
        let Held::Lock(guard) = &held else { panic!("a lock of one key") };
        // Renewed twice over while the change waits for its answer; taken away after that.
        let waits = async {
            sleep(LEASE * 5 / 2).await;
            worker.locks.force_release(key.as_str()).await.expect("it is there");
            pending().await
        };
        looked.unless_lost(&guard.view(), waits).await;
        worker.let_go(n, held, &looked, false).await;
        worker.write(&Record::Finished { at: now() });

        let life = Life { worker: 0, history, killed: None, said: String::new() };
        let evidence = Evidence {
            sort: Sort::Standalone,
            lives: vec![life],
            windows: Vec::new(),
            trouble: Vec::new(),
            wrong: Vec::new(),
            broken: None,
            tally: Tally::default(),
            leftovers: Vec::new(),
        };
        let past = Past::of(&evidence.lives).expect("a history");
        let verdict = check::check(&evidence, &past);
        assert_eq!((verdict.notices, verdict.findings), (1, vec![]));
    }
}
