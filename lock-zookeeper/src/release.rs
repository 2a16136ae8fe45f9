//! Releasing, and the downgrade.

use lock_store::{ConvertCommand, Downgraded, Mode, ReleaseCommand, Released, StoreError};

use super::{
    cleanup::AbandonOnDrop,
    contenders::{Contender, ContenderState},
    line::divide,
    names::Role,
    session::Session,
    store::{ZooKeeperStore, unavailable},
    znode::Znode,
};

impl ZooKeeperStore {
    pub(super) async fn release_one(
        &self,
        command: &ReleaseCommand,
    ) -> Result<Released, StoreError> {
        let Some(contender) = self.contenders.get(&command.holder) else {
            return Ok(Released::Gone);
        };
        let session = self.sessions.current().await?;
        if contender.session != session.number {
            // Everything of its session has ended.
            self.contenders.remove(&contender);
            return Ok(Released::Gone);
        }
        let mut state = contender.state.lock().await;
        let have = state.holds.of(command.mode);
        if command.holds > 0 {
            let is_less = have >= command.holds;
            if is_less {
                *state.holds.of_mut(command.mode) = command.holds;
            }
            return Ok(if is_less { Released::StillHeld } else { Released::Gone });
        }
        let mut left = state.holds;
        *left.of_mut(command.mode) = 0;
        if !left.none() && have == 0 {
            return Ok(Released::Gone);
        }
        if !left.none() {
            if command.mode == Mode::Write
                && !self.become_reader(&contender, &mut state, &session).await?
            {
                return Ok(Released::Gone);
            }
            state.holds = left;
            return Ok(Released::StillHeld);
        }
        // From here on its owner has nothing. If a deletion is not confirmed, the cleanup repeats
        // it, even after the caller has given up. Otherwise the znode would block all other
        // contenders for as long as the session lasts.
        let leaving = AbandonOnDrop::new(&self.contenders, &contender);
        state.watch_none();
        let mut was_there = false;
        for znode in state.znodes() {
            was_there |= znode.delete(&session).await.map_err(unavailable)?;
        }
        leaving.done();
        let others = have > 0 && command.mode == Mode::Read && {
            let children = session.client.get_children(&contender.path).await;
            children.is_ok_and(|(left, _)| divide(&left).0.iter().any(|one| one.role == Role::Read))
        };
        Ok(match (have > 0 && was_there, others) {
            (false, _) => Released::Gone,
            (true, true) => Released::StillHeld,
            (true, false) => Released::Freed,
        })
    }

    /// The write of an owner becomes a read, ahead of every waiter.
    async fn become_reader(
        &self,
        contender: &Contender,
        state: &mut ContenderState,
        session: &Session,
    ) -> Result<bool, StoreError> {
        let ContenderState { znode, next, .. } = state;
        if next.is_none() {
            *next = Znode::read_after(znode);
        }
        let data = self.data_of(&contender.holder);
        let done = match next {
            // One transaction: after a separate deletion a waiting writer could be granted the lock
            // before the read is created.
            Some(next) => znode.replace(next, session, &data).await.map_err(unavailable)?,
            None => None,
        };
        match (done, next.take()) {
            (Some(()), Some(read)) => *znode = read,
            _ => {
                self.contenders.remove(contender);
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) async fn convert_down(
        &self,
        command: &ConvertCommand,
    ) -> Result<Downgraded, StoreError> {
        let session = self.sessions.current().await?;
        let contender = self.contenders.get(&command.holder);
        let Some(contender) = contender.filter(|one| one.session == session.number) else {
            return Ok(Downgraded::Lost);
        };
        let was_known = session.touches.are_known();
        let mut state = contender.state.lock().await;
        let (has, after) = (state.holds, command.after);
        if has.none() {
            return Ok(Downgraded::Lost);
        }
        let changes = has.write > 0 && after.write == 0;
        if changes && !self.become_reader(&contender, &mut state, &session).await? {
            return Ok(Downgraded::Lost);
        }
        // Before the confirmation: if the caller gives that up, the command comes again, and finds the
        // read here.
        state.holds = after;
        // A change proves that the znode was there, if the leader knows that the session is alive.
        // Otherwise the downgraded hold could be relied upon although the session is about to end.
        if !changes || !was_known {
            let held = session.confirm().await.map_err(unavailable)?;
            if !state.znode.is_among(&held) {
                self.contenders.abandon(&contender);
                return Ok(Downgraded::Lost);
            }
        }
        Ok(Downgraded::Done)
    }
}
