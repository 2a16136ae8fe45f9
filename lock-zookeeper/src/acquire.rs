//! Acquiring: a contender's znode and its place in line.

use std::sync::Arc;

use lock_store::{AcquireCommand, Acquired, Kind, Mode, StoreError};
use zookeeper_client::{Error, OneshotWatcher};

use super::{
    cleanup::AbandonOnDrop,
    contenders::{Contender, ContenderState},
    line::{Position, is_in_the_way, position_of},
    names::Role,
    semaphore::permits_in_use,
    session::{Session, retry},
    store::{ZooKeeperStore, unavailable},
    strangers::has_strangers,
    tokens::token_of,
};

/// How a try ended.
pub(super) enum TryOutcome {
    Holds,
    Refused(Acquired),
}

pub(super) const BUSY: Acquired = Acquired::Busy { remaining: None, in_line: true };

impl ZooKeeperStore {
    /// One try, which begins again in the next session if its own ends meanwhile.
    pub(super) async fn try_acquire(
        &self,
        command: &AcquireCommand,
    ) -> Result<Acquired, StoreError> {
        let path = self.root.path_of(&command.key)?;
        loop {
            let session = self.sessions.current().await?;
            match self.try_in(&session, command, &path).await {
                // The session has taken its znodes with it, so nothing is left of this try. The
                // caller would get an error although the next session can grant the lock.
                Err(StoreError::Unavailable(_)) if session.has_ended() => {}
                answer => return answer,
            }
        }
    }

    async fn try_in(
        &self,
        session: &Arc<Session>,
        command: &AcquireCommand,
        path: &str,
    ) -> Result<Acquired, StoreError> {
        let holder = command.holder();
        let contender = if command.holds == 1 {
            self.contenders.of_try(&holder, command.mode, path, session.number)
        } else {
            match self.contenders.get(&holder) {
                Some(contender) if contender.session == session.number => contender,
                _ => return Ok(Acquired::Lost),
            }
        };
        // Read before anything is sent: a report that reaches the leader later says nothing about
        // the session at that moment.
        let was_known = session.touches.are_known();
        let mut state = contender.state.lock().await;
        if !state.holds.none() {
            return self.enter_again(command, &contender, &mut state, session).await;
        }
        if command.holds > 1 {
            return Ok(Acquired::Lost);
        }
        // A caller that does not wait reads first: a refusal then costs the ensemble no write.
        if command.place.is_none() && !state.may_be_stored() {
            let look = self.look_first(command, path, session).await.map_err(unavailable)?;
            if let Some(refusal) = look {
                self.contenders.remove(&contender);
                return Ok(refusal);
            }
        }
        let data = self.data_of(&holder);
        let tried = match command.kind {
            Kind::Semaphore => {
                self.take_permit(command, &contender, &mut state, session, &data).await
            }
            _ => self.join_line(&contender, &mut state, session, &data).await,
        };
        let in_the_way = match tried.map_err(unavailable)? {
            TryOutcome::Holds => {
                // The leader may be about to end the session, counted from before a pause of this
                // process. Without the confirmation the next contender could get the lock while
                // this holder relies on it.
                if !was_known {
                    session.confirm().await.map_err(unavailable)?;
                }
                state.watch_none();
                *state.holds.of_mut(command.mode) = 1;
                let token = state.znode.czxid().map(token_of);
                return Ok(Acquired::Granted(token.filter(|_| command.kind != Kind::Semaphore)));
            }
            TryOutcome::Refused(answer) => answer,
        };
        if command.place.is_some() && in_the_way == BUSY {
            return Ok(in_the_way);
        }
        // It holds nothing and waits for nothing. A znode that stays would be in the way of every
        // later contender until the session ends. If the caller is dropped here, the cleanup
        // deletes it.
        let leaving = AbandonOnDrop::new(&self.contenders, &contender);
        state.watch_none();
        for znode in state.znodes() {
            znode.delete(session).await.map_err(unavailable)?;
        }
        leaving.done();
        Ok(match in_the_way {
            Acquired::Busy { remaining, .. } => Acquired::Busy { remaining, in_line: false },
            other => other,
        })
    }

    /// One hold more for an owner that has one, or a command that is repeated.
    async fn enter_again(
        &self,
        command: &AcquireCommand,
        contender: &Arc<Contender>,
        state: &mut ContenderState,
        session: &Session,
    ) -> Result<Acquired, StoreError> {
        let before = state.holds;
        let have = before.of(command.mode);
        if have + 1 < command.holds {
            return Ok(Acquired::Lost);
        }
        // Holds are counted in this process, but only the ensemble knows whether the znode still
        // exists. Without this the scope would enter again a lock that an operator has taken away.
        let held = session.confirm().await.map_err(unavailable)?;
        // A write is held by its own znode alone: a read that has taken its place excludes no readers.
        let is_held = match command.mode {
            Mode::Write => state.znode.is_among(&held),
            Mode::Read => state.is_held(&held),
        };
        if !is_held {
            self.contenders.abandon(contender);
            return Ok(Acquired::Lost);
        }
        *state.holds.of_mut(command.mode) = have.max(command.holds);
        // The first hold, requested again because its reply was lost.
        let is_first = have == 1 && command.holds == 1 && before.read + before.write == 1;
        let token = state.znode.czxid().map(token_of);
        let token = token.filter(|_| is_first && command.kind != Kind::Semaphore);
        Ok(Acquired::Granted(token))
    }

    /// Why a contender that comes now would not hold the lock.
    async fn look_first(
        &self,
        command: &AcquireCommand,
        path: &str,
        session: &Session,
    ) -> Result<Option<Acquired>, Error> {
        let refused = match command.kind {
            Kind::Semaphore => {
                let permits = usize::try_from(command.permits).unwrap_or(usize::MAX);
                permits_in_use(session, path).await? >= permits
            }
            kind => {
                let children = session.children_now(path).await?;
                is_in_the_way(&children, Role::of(kind, command.mode))
            }
        };
        Ok(refused.then_some(Acquired::Busy { remaining: None, in_line: false }))
    }

    async fn join_line(
        &self,
        contender: &Arc<Contender>,
        state: &mut ContenderState,
        session: &Arc<Session>,
        data: &str,
    ) -> Result<TryOutcome, Error> {
        loop {
            let children = state.znode.create(session, data).await?;
            if has_strangers(session, &contender.path, &children).await? {
                return Ok(TryOutcome::Refused(Acquired::WrongKind));
            }
            let own = state.znode.name().unwrap_or_default();
            match position_of(&children, own) {
                Position::Holds => return Ok(TryOutcome::Holds),
                Position::OtherRecipe => return Ok(TryOutcome::Refused(Acquired::WrongKind)),
                // An operator has deleted its znode: it lines up again, behind all others.
                Position::Gone => state.znode.vanished(),
                Position::Behind(name) => {
                    let path = format!("{}/{name}", contender.path);
                    // If the znode ahead has gone since the list was read, no watch on it would
                    // ever fire. The list is read again then.
                    if self.watch(contender, state, session, path).await? {
                        return Ok(TryOutcome::Refused(BUSY));
                    }
                }
            }
        }
    }

    /// Watches the znode that a contender waits for; `false` if that is gone already.
    pub(super) async fn watch(
        &self,
        contender: &Arc<Contender>,
        state: &mut ContenderState,
        session: &Session,
        path: String,
    ) -> Result<bool, Error> {
        if state.watches(&path) {
            return Ok(true);
        }
        // Watches the data, and not the existence: that watch would stay in the server when the
        // znode is gone.
        let watched = retry(|| session.client.get_and_watch_data(&path)).await;
        let watcher = match watched {
            Ok((_, _, watcher)) => watcher,
            Err(Error::NoNode) => return Ok(false),
            Err(why) => return Err(why),
        };
        self.wake_by(contender, state, path, watcher);
        Ok(true)
    }

    /// Wakes a contender once the znode that it watches has changed.
    pub(super) fn wake_by(
        &self,
        contender: &Arc<Contender>,
        state: &mut ContenderState,
        path: String,
        watcher: OneshotWatcher,
    ) {
        // Weak: the contender owns this task, and would otherwise never be dropped.
        let waiter = Arc::downgrade(contender);
        let task = tokio::spawn(async move {
            watcher.changed().await;
            if let Some(waiter) = waiter.upgrade() {
                waiter.wake();
            }
        });
        state.watch(path, task);
    }
}
