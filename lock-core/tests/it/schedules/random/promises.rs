//! The promises of every schedule, checked at every grant.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use lock_core::{
    FencingToken, Inspection, Kind, LockClient, LockView, LostCause, LostSignal, Mode, PermitGuard,
    RedLockGuard,
};
use tokio::{task::JoinSet, time::sleep};

use super::plan::{KEYS, PERMITS};

/// Whose hold it is: a scope's, or that of one acquisition alone.
pub(super) type Thread = u64;

/// More threads than a process has.
const PER_PROCESS: Thread = 100_000;
/// More threads than an actor has.
pub(super) const PER_ACTOR: Thread = 1_000;

enum Look {
    Lock { key: usize, thread: Thread, view: LockView },
    Permit { key: usize, guard: Weak<PermitGuard> },
    Majority(Weak<RedLockGuard>),
}

impl Look {
    fn is_held(&self) -> bool {
        match self {
            Self::Lock { view, .. } => view.is_held(),
            Self::Permit { guard, .. } => guard.upgrade().is_some_and(|guard| guard.is_held()),
            Self::Majority(guard) => guard.upgrade().is_some_and(|guard| guard.is_held()),
        }
    }
}

pub(super) struct Promises {
    /// Sees the store as it is.
    judge: LockClient,
    kinds: [Kind; KEYS.len()],
    looks: Mutex<Vec<Look>>,
    /// The highest token of a write, by key.
    written: Mutex<[Option<FencingToken>; KEYS.len()]>,
    watches: Mutex<JoinSet<()>>,
    /// How late the loss of a lock may be reported.
    tolerance: Duration,
}

impl Promises {
    pub(super) fn new(judge: LockClient, kinds: [Kind; KEYS.len()], tolerance: Duration) -> Self {
        let (looks, written, watches) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { judge, kinds, looks, written, watches, tolerance }
    }

    /// The number of a process' actor; its threads are numbered from a thousand times that on.
    pub(super) fn actor(process: u64, at: u64) -> Thread {
        process * (PER_PROCESS / PER_ACTOR) + at
    }

    /// The highest token of a write by now.
    pub(super) fn written(&self, key: usize) -> Option<FencingToken> {
        self.written.lock().unwrap()[key]
    }

    /// A lock was granted, or upgraded, that was requested when `before` was the highest token.
    pub(super) fn granted(
        &self,
        key: usize,
        thread: Thread,
        view: LockView,
        before: Option<FencingToken>,
    ) {
        let token = view.fencing_token();
        let again = self.believed(key).iter().any(|(known, _)| *known == thread);
        // A hold that was entered again may have been lost since, by the clock of a suspended machine.
        let again = again || !view.is_held();
        assert!(again || Some(token) > before, "{}: {token:?} after {before:?}", KEYS[key]);
        if view.mode() == Mode::Write {
            let mut written = self.written.lock().unwrap();
            written[key] = written[key].max(Some(token));
        }
        self.watch(view.clone(), view.lost());
        self.look(Look::Lock { key, thread, view });
    }

    pub(super) fn granted_permit(&self, key: usize, guard: &Arc<PermitGuard>) {
        self.look(Look::Permit { key, guard: Arc::downgrade(guard) });
    }

    pub(super) fn granted_majority(&self, guard: &Arc<RedLockGuard>) {
        self.look(Look::Majority(Arc::downgrade(guard)));
    }

    /// All watches have ended, and none has seen a defect.
    pub(super) async fn watched_to_the_end(&self) {
        let watches = std::mem::take(&mut *self.watches.lock().unwrap());
        watches.join_all().await;
    }

    fn look(&self, look: Look) {
        {
            let mut looks = self.looks.lock().unwrap();
            looks.push(look);
            looks.retain(Look::is_held);
        }
        for key in 0..KEYS.len() {
            self.check(key);
        }
        let looks = self.looks.lock().unwrap();
        let majorities = looks.iter().filter(|look| matches!(look, Look::Majority(_)));
        let held = majorities.filter(|look| look.is_held()).count();
        assert!(held <= 1, "{held} have a majority");
    }

    /// The holders that rely on a lock, each in its strongest mode.
    fn believed(&self, key: usize) -> Vec<(Thread, Mode)> {
        let mut believed: Vec<(Thread, Mode)> = Vec::new();
        for look in self.looks.lock().unwrap().iter() {
            let Look::Lock { key: of, thread, view } = look else { continue };
            if *of == key && view.is_held() && believed.iter().all(|(known, _)| known != thread) {
                believed.push((*thread, view.mode()));
            }
        }
        believed
    }

    /// Holders exclude each other, and the store has every lock that is relied upon.
    fn check(&self, key: usize) {
        let believed = self.believed(key);
        let writes = believed.iter().any(|(_, mode)| *mode == Mode::Write);
        assert!(!writes || believed.len() == 1, "{}: {believed:?}", KEYS[key]);
        let stored = self.stored(key);
        let permits = {
            let looks = self.looks.lock().unwrap();
            let own = |look: &&Look| matches!(look, Look::Permit { key: of, .. } if *of == key);
            looks.iter().filter(own).filter(|look| look.is_held()).count()
        };
        assert!(permits <= PERMITS as usize, "{}: {permits} permits", KEYS[key]);
        let holders = stored.holders.len();
        // Readers of one process may share.
        let shared: BTreeSet<_> = believed.iter().map(|(thread, _)| thread / PER_PROCESS).collect();
        let shares = self.kinds[key] == Kind::ReadWrite;
        let least = if shares { shared.len() } else { believed.len() };
        assert!(holders >= least + permits, "{}: {believed:?} {stored:?}", KEYS[key]);
        if writes {
            assert_eq!(stored.mode, Some(Mode::Write), "{}: {believed:?} {stored:?}", KEYS[key]);
        }
        if self.kinds[key] == Kind::Semaphore {
            assert!(holders <= PERMITS as usize, "{}: {stored:?}", KEYS[key]);
        }
    }

    fn stored(&self, key: usize) -> Inspection {
        let seen = self.judge.inspect(KEYS[key]).now_or_never().expect("it answers at once");
        seen.expect("it is up")
    }

    /// Checks that a loss is reported by the time the holder's clock has ended the lease, by a
    /// timer of its own: a check of the lock itself would find it lost.
    fn watch(&self, view: LockView, lost: LostSignal) {
        let (reported, tolerance) = (Arc::new(AtomicBool::new(false)), self.tolerance);
        let hears = tokio::spawn({
            let reported = Arc::clone(&reported);
            async move {
                lost.await;
                reported.store(true, Ordering::Relaxed);
            }
        });
        self.watches.lock().unwrap().spawn(async move {
            loop {
                let left = view.remaining();
                if !left.is_zero() {
                    sleep(left + tolerance).await;
                }
                if reported.load(Ordering::Relaxed) {
                    return;
                }
                match view.ensure_held() {
                    Ok(()) => {}
                    Err(lost) if lost.cause() == LostCause::Released => return hears.abort(),
                    Err(lost) => {
                        // A message that was just sent is received in a moment.
                        sleep(Duration::from_millis(1)).await;
                        let received = reported.load(Ordering::Relaxed);
                        assert!(
                            received || lost.cause() != LostCause::Expired,
                            "not reported: {lost}"
                        );
                        return hears.abort();
                    }
                }
            }
        });
    }
}
