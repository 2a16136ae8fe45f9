//! One thread of work that follows its plan.

use std::{future::Future, sync::Arc, time::Duration};

use lock_core::{
    Acquire, AcquireError, FencingToken, Kind, LockClient, LockGuard, LockView, Lockable, Member,
    MultiGuard, PermitGuard, RedLock, RedLockGuard, ReleaseError, Scope, test_util::suspend,
};
use tokio::time::{Instant, sleep, timeout};

use super::{
    plan::{Action, COMMAND_TIMEOUT, KEYS, PERMITS, Terms},
    promises::{PER_ACTOR, Promises, Thread},
    schedule::{Process, Report},
};

/// How much longer than its wait an acquisition waits for its last answer.
const LAST_ANSWER: Duration = Duration::from_millis(50);
/// Timers have a resolution of one millisecond.
const TICK: Duration = Duration::from_millis(2);

enum Held {
    Lock { key: usize, thread: Thread, guard: LockGuard },
    Both(MultiGuard),
    Permit(Arc<PermitGuard>),
    Majority(Arc<RedLockGuard>),
}

pub(super) struct Actor {
    number: Thread,
    kinds: [Kind; KEYS.len()],
    client: LockClient,
    red_lock: RedLock,
    process: Arc<Process>,
    scope: Scope,
    promises: Arc<Promises>,
    held: Vec<Held>,
    acquired: u64,
    report: Report,
}

impl Actor {
    pub(super) fn new(number: u64, process: &Arc<Process>, promises: &Arc<Promises>) -> Self {
        Self {
            number,
            kinds: process.kinds,
            client: process.client.clone(),
            red_lock: process.red_lock.clone(),
            process: Arc::clone(process),
            scope: process.client.scope(),
            promises: Arc::clone(promises),
            held: Vec::new(),
            acquired: 0,
            report: Report::default(),
        }
    }

    pub(super) async fn act(mut self, actions: Vec<Action>) -> Report {
        for action in actions {
            match action {
                Action::Sleep(span) => sleep(span).await,
                Action::Acquire(terms) => self.acquire(terms).await,
                Action::AcquireBoth(terms) => self.acquire_both(terms).await,
                Action::AcquireMajority(terms) => self.acquire_majority(terms).await,
                Action::Upgrade { dropped_after } => self.upgrade(dropped_after).await,
                Action::Downgrade { dropped_after } => self.downgrade(dropped_after).await,
                Action::Release { dropped_after } => self.release(dropped_after).await,
                Action::Drop => drop(self.held.pop()),
                Action::Suspend(span) => suspend(span),
                Action::ShutDown(deadline) => self.shut_down(deadline).await,
            }
        }
        self.report
    }

    async fn acquire(&mut self, terms: Terms) {
        let key = KEYS[terms.key];
        if self.kinds[terms.key] == Kind::Semaphore {
            let ask = self.client.semaphore(key, PERMITS).permit();
            let Some(guard) = self.ask(ask, terms, 1).await else { return };
            let guard = Arc::new(guard);
            self.promises.granted_permit(terms.key, &guard);
            self.held.push(Held::Permit(guard));
            return;
        }
        let before = self.promises.written(terms.key);
        let ask = self.client.lock(terms.mode, key).kind(self.kinds[terms.key]);
        let Some(guard) = self.ask(ask, terms, 1).await else { return };
        let thread = self.thread(terms);
        self.promises.granted(terms.key, thread, guard.view(), before);
        self.held.push(Held::Lock { key: terms.key, thread, guard });
    }

    async fn acquire_both(&mut self, terms: Terms) {
        let keys = [terms.key, (terms.key + 1) % KEYS.len()];
        let before = keys.map(|key| self.promises.written(key));
        let member = |key: usize| match self.kinds[key] {
            Kind::Semaphore => Member::from(self.client.semaphore(KEYS[key], PERMITS).permit()),
            kind => {
                let mode = if kind.has_readers() { terms.mode } else { lock_core::Mode::Write };
                self.client.lock(mode, KEYS[key]).kind(kind).into()
            }
        };
        let ask = self.client.multi_lock(keys.map(member));
        let Some(guard) = self.ask(ask, terms, 2).await else { return };
        let thread = self.thread(terms);
        // Permits of semaphores exclude no other holder, and have no token.
        let is_lock = |view: &LockView| view.fencing_token() != FencingToken::NONE;
        for view in guard.views().filter(is_lock) {
            let at = keys.iter().position(|key| KEYS[*key] == view.key().as_str()).unwrap();
            self.promises.granted(keys[at], thread, view, before[at]);
        }
        self.held.push(Held::Both(guard));
    }

    async fn acquire_majority(&mut self, terms: Terms) {
        // The identity of each server is read, too.
        let ask = self.red_lock.lock("majority");
        let Some(guard) = self.ask(ask, terms, 2).await else { return };
        let guard = Arc::new(guard);
        self.promises.granted_majority(&guard);
        self.held.push(Held::Majority(guard));
    }

    /// A scope's hold is one; outside of it each acquisition has one of its own.
    fn thread(&mut self, terms: Terms) -> Thread {
        self.acquired += 1;
        self.number * PER_ACTOR + if terms.in_scope { 0 } else { self.acquired }
    }

    /// The outcome of an acquisition that takes at most this many commands, one after another.
    async fn ask<T: Lockable>(
        &mut self,
        ask: Acquire<T>,
        terms: Terms,
        steps: u32,
    ) -> Option<T::Guard> {
        let mut ask = ask.wait(terms.wait).lease(terms.lease).renew(terms.renew);
        if let Some(most) = terms.max_hold {
            ask = ask.max_hold(most);
        }
        if terms.in_scope {
            ask = ask.in_scope(&self.scope);
        }
        let (draining, started) = (self.process.is_draining(), Instant::now());
        let ended = dropped_after(terms.dropped_after, ask.acquire()).await;
        // An acquisition that does not wait for others still waits for pending releases of its own
        // process.
        let wait = if terms.wait.is_zero() { COMMAND_TIMEOUT } else { terms.wait };
        let longest = wait + COMMAND_TIMEOUT * steps + LAST_ANSWER + TICK;
        let took = started.elapsed();
        assert!(took <= longest, "{terms:?}: it took {took:?}");
        let Some(ended) = ended else {
            self.report.dropped += 1;
            return None;
        };
        // A scope can always re-enter what it holds.
        let again = terms.in_scope && !self.held.is_empty();
        assert!(!draining || again || ended.is_err(), "{terms:?}: granted after the shutdown");
        match ended {
            Ok(guard) => {
                self.report.granted += 1;
                return Some(guard);
            }
            Err(AcquireError::Busy(_)) => self.report.busy += 1,
            Err(AcquireError::Unavailable(_)) => self.report.unavailable += 1,
            Err(AcquireError::Draining) => self.report.draining += 1,
            Err(AcquireError::Lost(_)) => self.report.lost += 1,
            Err(AcquireError::ReadHeld { .. } | AcquireError::AlreadyHeld { .. }) => {
                assert!(terms.in_scope);
            }
            Err(other) => panic!("{terms:?}: {other}"),
        }
        None
    }

    async fn upgrade(&mut self, limit: Option<Duration>) {
        let Some(Held::Lock { key, thread, guard }) = self.held.last_mut() else { return };
        let (key, before, own) = (*key, self.promises.written(*key), guard.fencing_token());
        let ended = dropped_after(limit, guard.upgrade()).await;
        if matches!(ended, Some(Ok(()))) && guard.fencing_token() > own {
            assert!(Some(guard.fencing_token()) > before, "an upgrade has a new token");
            self.promises.granted(key, *thread, guard.view(), before);
        }
    }

    async fn downgrade(&mut self, limit: Option<Duration>) {
        let Some(Held::Lock { guard, .. }) = self.held.last_mut() else { return };
        let _ = dropped_after(limit, guard.downgrade()).await;
    }

    async fn release(&mut self, limit: Option<Duration>) {
        let released = match self.held.pop() {
            Some(Held::Lock { guard, .. }) => dropped_after(limit, guard.release()).await,
            Some(Held::Both(guard)) => dropped_after(limit, guard.release()).await,
            Some(Held::Permit(guard)) => {
                let Some(guard) = Arc::into_inner(guard) else { return };
                dropped_after(limit, guard.release()).await
            }
            Some(Held::Majority(guard)) => {
                let Some(guard) = Arc::into_inner(guard) else { return };
                dropped_after(limit, guard.release()).await
            }
            None => return,
        };
        if let Some(Err(ReleaseError::Lost(_))) = released {
            self.report.lost += 1;
        }
    }

    async fn shut_down(&mut self, deadline: Duration) {
        self.held.clear();
        self.process.drains();
        let started = Instant::now();
        let (one, majority) =
            tokio::join!(self.client.shutdown(deadline), self.red_lock.shutdown(deadline));
        let took = started.elapsed();
        assert!(took <= deadline + TICK, "{deadline:?}: it took {took:?}");
        let servers = self.red_lock.servers().iter().filter(|_| majority.is_ok());
        for ended in one.is_ok().then_some(&self.client).into_iter().chain(servers) {
            assert_eq!(ended.health().await.holds, 0);
        }
    }
}

/// Returns the output of `work`, unless the limit ends it first.
async fn dropped_after<F: Future>(limit: Option<Duration>, work: F) -> Option<F::Output> {
    match limit {
        Some(limit) => timeout(limit, work).await.ok(),
        None => Some(work.await),
    }
}
