//! The contenders of this client that are or may be in the store: one for each owner of each key.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use lock_store::{
    Holder, Holds, Kind, LockKey, Mode, NotifyState, OwnerId, WakeupReceiver, runtime::Mutex,
};
use tokio::{
    sync::{Mutex as AsyncMutex, Notify, watch},
    task::JoinHandle,
    time::Instant,
};

use super::{
    names::{PERMITS, Role, TURNS},
    znode::Znode,
};

/// One owner of one key. Commands of one owner come one at a time; the cleanup may come between.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) holder: Holder,
    /// The folder of its lock.
    pub(crate) path: String,
    /// Its session: everything in it ends with that.
    pub(crate) session: u64,
    pub(crate) state: AsyncMutex<ContenderState>,
    turn: watch::Sender<NotifyState>,
}

#[derive(Debug)]
pub(crate) struct ContenderState {
    /// Its place at the lock, or its permit.
    pub(crate) znode: Znode,
    /// Its turn to take a permit.
    pub(crate) queue: Option<Znode>,
    /// The read that takes the place of its write.
    pub(crate) next: Option<Znode>,
    /// The holds of its owner; none while it waits.
    pub(crate) holds: Holds,
    /// The znode that it waits for.
    watch: Option<(String, JoinHandle<()>)>,
    /// Looks out for a request to release.
    requests: Option<JoinHandle<()>>,
    /// Looks out for an operator that takes its znode away.
    taken: Option<JoinHandle<()>>,
}

impl Drop for ContenderState {
    fn drop(&mut self) {
        self.watch_none();
        for task in [self.requests.take(), self.taken.take()].into_iter().flatten() {
            task.abort();
        }
    }
}

impl ContenderState {
    pub(crate) fn watches(&self, path: &str) -> bool {
        self.watch.as_ref().is_some_and(|(watched, task)| watched == path && !task.is_finished())
    }

    pub(crate) fn watch(&mut self, path: String, task: JoinHandle<()>) {
        self.watch_none();
        self.watch = Some((path, task));
    }

    /// Waits until the watched znode has changed.
    pub(crate) async fn watched(&mut self) {
        if let Some((_, task)) = &mut self.watch {
            let _ = task.await;
        }
        self.watch = None;
    }

    pub(crate) fn looks_out_for_requests(&self) -> bool {
        self.requests.as_ref().is_some_and(|task| !task.is_finished())
    }

    pub(crate) fn look_out_for_requests(&mut self, task: JoinHandle<()>) {
        self.requests = Some(task);
    }

    pub(crate) fn look_out_for_taking(&mut self, task: JoinHandle<()>) {
        if let Some(before) = self.taken.replace(task) {
            before.abort();
        }
    }

    pub(crate) fn watch_none(&mut self) {
        if let Some((_, task)) = self.watch.take() {
            task.abort();
        }
    }

    pub(crate) fn may_be_stored(&mut self) -> bool {
        self.znodes().any(|znode| znode.may_exist())
    }

    /// Whether it has a hold among these paths: a write, or the read that has taken its place by a command
    /// whose answer did not come.
    pub(crate) fn is_held(&self, held: &HashSet<String>) -> bool {
        let next = self.next.as_ref();
        !self.holds.none()
            && (self.znode.is_among(held) || next.is_some_and(|next| next.is_among(held)))
    }

    /// Everything of it that may be in the store.
    pub(crate) fn znodes(&mut self) -> impl Iterator<Item = &mut Znode> {
        self.queue.iter_mut().chain([&mut self.znode]).chain(&mut self.next)
    }
}

impl Contender {
    fn new(
        holder: Holder,
        mode: Mode,
        path: String,
        session: u64,
        turn: watch::Sender<NotifyState>,
    ) -> Self {
        let role = Role::of(holder.kind, mode);
        let (folder, queue) = if holder.kind == Kind::Semaphore {
            let queue = Znode::new(format!("{path}/{TURNS}"), Role::Mutex);
            (format!("{path}/{PERMITS}"), Some(queue))
        } else {
            (path.clone(), None)
        };
        let znode = Znode::new(folder, role);
        let state = ContenderState {
            znode,
            queue,
            next: None,
            holds: Holds::default(),
            watch: None,
            requests: None,
            taken: None,
        };
        Self { holder, path, session, state: AsyncMutex::new(state), turn }
    }

    /// Wakes the waiter, to try again.
    pub(crate) fn wake(&self) {
        self.turn.send_modify(|state| {
            state.count += 1;
            state.grown_at = Some(Instant::now());
        });
    }
}

/// All contenders of a client.
#[derive(Debug)]
pub(crate) struct Contenders {
    since: Instant,
    all: Mutex<HashMap<(LockKey, OwnerId), Arc<Contender>>>,
    /// Those that nothing uses any more, but that may still be in the store.
    abandoned: Mutex<Vec<Arc<Contender>>>,
    pub(crate) abandoned_some: Notify,
}

impl Contenders {
    pub(crate) fn new() -> Arc<Self> {
        let (all, abandoned) = (Mutex::default(), Mutex::default());
        Arc::new(Self { since: Instant::now(), all, abandoned, abandoned_some: Notify::new() })
    }

    /// The contender of this owner in this session, which a first try makes.
    pub(crate) fn of_try(
        &self,
        holder: &Holder,
        mode: Mode,
        path: &str,
        session: u64,
    ) -> Arc<Contender> {
        let mut all = self.all.lock();
        let make = |turn| Contender::new(holder.clone(), mode, path.to_owned(), session, turn);
        let place = all.entry((holder.key.clone(), holder.owner.clone()));
        let contender = place.or_insert_with(|| {
            // No wake-up comes before the first try, which sets the watch, and every later one is received.
            // So a waiter sleeps after its first refusal: a second try would be two requests more.
            let (subscribed, grown_at) = (true, Some(self.since));
            let none = NotifyState { subscribed, grown_at, ..NotifyState::default() };
            Arc::new(make(watch::Sender::new(none)))
        });
        if contender.session != session {
            // The waiter listens to this sender. With a new one it would miss every wake-up of the
            // new session, and poll.
            let turn = contender.turn.clone();
            *contender = Arc::new(make(turn));
        }
        Arc::clone(contender)
    }

    /// The contender of this owner, if there is one.
    pub(crate) fn get(&self, holder: &Holder) -> Option<Arc<Contender>> {
        let found = self.all.lock().get(&(holder.key.clone(), holder.owner.clone())).cloned();
        found.filter(|found| found.holder.kind == holder.kind)
    }

    pub(crate) fn of_key(&self, key: &LockKey) -> Vec<Arc<Contender>> {
        let all = self.all.lock();
        all.values().filter(|one| one.holder.key == *key).map(Arc::clone).collect()
    }

    /// Forgets one of which nothing is left in the store.
    pub(crate) fn remove(&self, contender: &Contender) {
        let Holder { key, owner, .. } = &contender.holder;
        let mut all = self.all.lock();
        let key = (key.clone(), owner.clone());
        // Only this one: by now its owner may have another contender of a later session, which may
        // hold the lock.
        if all.get(&key).is_some_and(|found| std::ptr::eq(&**found, contender)) {
            all.remove(&key);
        }
    }

    /// Leaves one to the cleanup. From now on its owner has nothing here: its next try has another
    /// znode, which the cleanup does not touch.
    pub(crate) fn abandon(&self, contender: &Arc<Contender>) {
        self.remove(contender);
        self.abandoned.lock().push(Arc::clone(contender));
        self.abandoned_some.notify_one();
    }

    pub(crate) fn take_abandoned(&self) -> Vec<Arc<Contender>> {
        std::mem::take(&mut self.abandoned.lock())
    }

    pub(crate) fn turns_of(&self, holder: &Holder) -> WakeupReceiver {
        match self.get(holder) {
            Some(contender) => WakeupReceiver::of(contender.turn.subscribe()),
            None => WakeupReceiver::never(),
        }
    }
}

#[cfg(test)]
mod tests {
    use lock_store::{ClientId, Owners};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_waiter_that_nothing_has_woken_since_its_first_try_need_not_try_again() {
        let contenders = Contenders::new();
        let owner = Owners::new(ClientId::random()).next();
        let key = LockKey::try_from("k").expect("a key");
        let holder = Holder::new(Kind::Reentrant, key, owner);
        for session in 1..=2 {
            tokio::time::advance(std::time::Duration::from_millis(1)).await;
            let sent = Instant::now();
            let contender = contenders.of_try(&holder, Mode::Write, "/lock/k", session);
            assert!(contenders.turns_of(&holder).silent_since(sent), "session {session}");
            contender.wake();
            assert!(!contenders.turns_of(&holder).silent_since(sent), "session {session}");
        }
    }
}
