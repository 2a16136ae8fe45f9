//! One task of a worker: acquires, holds, releases, and again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use lock_core::{
    AcquireError, DowngradeError, Kind, LockGuard, LostCause, Mode, Scope, UpgradeError,
};
use tokio::{sync::oneshot, time::sleep};

use super::{
    Worker,
    counter::Counter,
    held::Held,
    hold::Looked,
    turn::{Extra, Turn},
};
use crate::{
    clock::{Nanos, now},
    history::{Ending, Record},
    keys::Family,
};

pub(super) async fn work(worker: Arc<Worker>, seed: u64) {
    let mut random = Rng::with_seed(seed);
    let mut counter = Counter::at(worker.resource.clone());
    while !worker.finishing.load(Ordering::SeqCst) {
        let turn = Turn::random(&mut random, worker.session_lease);
        worker.take(&turn, &mut counter).await;
        sleep(Duration::from_micros(random.u64(0..2_000))).await;
    }
}

/// Waits for what another worker alone holds, again and again.
pub(super) async fn inherit(worker: Arc<Worker>, other: usize) {
    let key = Family::heirloom(other);
    while !worker.finishing.load(Ordering::SeqCst) {
        let turn = Turn { wait: Duration::from_secs(12), ..worker.plain(Family::ReadWrite, &key) };
        if let Some((n, held)) = worker.acquire(&turn, None).await {
            worker.let_go(n, held, &Looked::begin(), true).await;
        }
        sleep(Duration::from_millis(150)).await;
    }
}

/// Holds what another worker waits for when it is to be gone, in turn with a third one.
pub(super) async fn precede(worker: Arc<Worker>, other: usize) {
    let key = Family::left_to(other);
    while !worker.finishing.load(Ordering::SeqCst) {
        let plain = worker.plain(Family::Reentrant, &key);
        let turn =
            Turn { wait: Duration::from_secs(12), hold: Duration::from_millis(120), ..plain };
        if let Some((n, held)) = worker.acquire(&turn, None).await {
            let mut looked = Looked::begin();
            worker.protect(n, &held, &mut looked, sleep(turn.hold)).await;
            worker.let_go(n, held, &looked, true).await;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Returns whether a newer caller has requested the release before the work was done. If `stops`, the work
/// is stopped by the guard.
async fn works_until_replaced(guard: &LockGuard, work: impl Future, stops: bool) -> bool {
    if stops {
        let ended = guard.protect(work).await;
        return matches!(ended, Err(lost) if lost.cause() == LostCause::Replaced);
    }
    tokio::select! {
        () = guard.release_requested() => true,
        _ = work => false,
    }
}

impl Worker {
    pub(super) async fn take(&self, turn: &Turn, counter: &mut Counter) {
        let is_scoped = matches!(turn.extra, Extra::Reenter | Extra::Nest);
        let scope = is_scoped.then(|| self.locks.scope());
        let Some((n, mut held)) = self.acquire(turn, scope.as_ref()).await else {
            return;
        };
        let mut looked = Looked::begin();
        match turn.extra {
            Extra::Count => {
                let tokens = held.tokens(turn);
                let work = async {
                    for (key, token) in turn.keys.iter().zip(tokens) {
                        let token = token.expect("BUG: what counts has a token");
                        let counted = counter.count(key, token).await;
                        counted.expect("the resource answers");
                    }
                    sleep(turn.hold).await;
                };
                self.protect(n, &held, &mut looked, work).await;
            }
            Extra::ChangeMode => {
                self.protect(n, &held, &mut looked, sleep(turn.hold / 2)).await;
                if looked.lost.is_none()
                    && let Held::Lock(guard) = &mut held
                {
                    let (view, last) = (guard.view(), looked.last);
                    looked.unless_lost(&view, self.change_mode(n, guard, last)).await;
                }
                if looked.lost.is_none() {
                    self.protect(n, &held, &mut looked, sleep(turn.hold / 2)).await;
                }
            }
            Extra::Reenter => {
                self.protect(n, &held, &mut looked, sleep(turn.hold / 2)).await;
                if looked.lost.is_none() && held.is_held() {
                    let scope = scope.as_ref().expect("BUG: it is there");
                    self.protect(n, &held, &mut looked, self.reenter(turn, scope)).await;
                }
                if looked.lost.is_none() {
                    self.protect(n, &held, &mut looked, sleep(turn.hold / 2)).await;
                }
            }
            Extra::Nest => {
                let scope = scope.as_ref().expect("BUG: it is there");
                let (done, nested) = oneshot::channel();
                // To its end, also when the outer hold is lost: its history would lack an answer.
                let nest = async {
                    self.nest(turn, scope).await;
                    let _ = done.send(());
                };
                let outer = self.protect(n, &held, &mut looked, async {
                    let _ = nested.await;
                });
                tokio::join!(nest, outer);
            }
            Extra::Obey | Extra::Protect => {
                let Held::Lock(guard) = &held else { unreachable!("BUG: it has one key") };
                let replaced = AtomicBool::new(false);
                let work = async {
                    let stops = matches!(turn.extra, Extra::Protect);
                    let ended = works_until_replaced(guard, sleep(turn.hold), stops).await;
                    replaced.store(ended, Ordering::SeqCst);
                };
                self.protect(n, &held, &mut looked, work).await;
                looked.replaced = replaced.into_inner();
            }
            Extra::Nothing => self.protect(n, &held, &mut looked, sleep(turn.hold)).await,
        }
        self.let_go(n, held, &looked, turn.release).await;
    }

    /// Ends a hold in one way or the other.
    pub(super) async fn let_go(&self, n: u64, held: Held, looked: &Looked, release: bool) {
        let how = match release {
            _ if looked.replaced => Ending::Replaced,
            true => Ending::Released,
            false => Ending::Dropped,
        };
        self.write(&looked.end(n, how));
        if release {
            let confirmed = held.release().await.is_ok();
            self.write(&Record::Freed { n, at: now(), confirmed });
        }
    }

    async fn change_mode(&self, n: u64, guard: &mut lock_core::LockGuard, last: Nanos) {
        let changed = match guard.mode() {
            Mode::Read => match guard.upgrade().await {
                Ok(()) if self.session_lease.is_none() => true,
                Ok(()) => return self.wrong("an upgrade where there is none"),
                Err(UpgradeError::Unsupported(_)) if self.session_lease.is_some() => false,
                Err(UpgradeError::NotSole { .. } | UpgradeError::Lost(_)) => false,
                Err(UpgradeError::Unavailable(_)) => false,
                Err(other) => return self.wrong(format!("an upgrade: {other}")),
            },
            Mode::Write => match guard.downgrade().await {
                Ok(()) | Err(DowngradeError::Unavailable(_) | DowngradeError::Lost(_)) => true,
                Err(other) => return self.wrong(format!("a downgrade: {other}")),
            },
        };
        if changed {
            let (at, access) = (now(), guard.mode().into());
            let token = Some(guard.fencing_token().get());
            self.write(&Record::Mode { n, last, at, access, token });
        }
    }

    /// Acquires the key after the one that the scope holds, if there is one.
    async fn nest(&self, turn: &Turn, scope: &Scope) {
        let Some(key) = turn.family.key_after(&turn.keys[0]) else { return };
        let wait = Duration::from_secs(3);
        let inner = Turn { mode: turn.mode, wait, ..self.plain(turn.family, &key) };
        if let Some((n, held)) = self.acquire(&inner, Some(scope)).await {
            let mut looked = Looked::begin();
            self.protect(n, &held, &mut looked, sleep(inner.hold)).await;
            self.let_go(n, held, &looked, true).await;
        }
    }

    /// Acquires the lock again in the scope that holds it, which must not wait for itself.
    async fn reenter(&self, turn: &Turn, scope: &Scope) {
        let kind = turn.family.kind();
        let mode = if kind.has_readers() { Mode::Read } else { Mode::Write };
        let again = scope.lock(mode, turn.keys[0].as_str()).kind(kind);
        let again = self.with_lease(again, turn.lease);
        match (again.try_acquire().await, kind) {
            (Ok(_), Kind::NonReentrant) => self.wrong("a lock that is not reentrant was entered"),
            (Ok(inner), _) => drop(inner),
            (Err(AcquireError::AlreadyHeld { .. }), Kind::NonReentrant) => {}
            // The hold was just lost, or the outcome is unknown.
            (Err(AcquireError::Lost(_) | AcquireError::Unavailable(_)), _) => {}
            (Err(other), _) => self.wrong(format!("to enter again: {other}")),
        }
    }
}
