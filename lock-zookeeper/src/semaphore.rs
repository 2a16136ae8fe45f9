//! Curator's `InterProcessSemaphoreV2`: the first contender in `locks` takes a permit in `leases` once
//! there are fewer than the semaphore has, and then leaves `locks`.

use std::{sync::Arc, time::Duration};

use lock_store::{AcquireCommand, Acquired, LockKey, StoreError};
use zookeeper_client::Error;

use super::{
    acquire::{BUSY, TryOutcome},
    contenders::{Contender, ContenderState},
    line::{Position, position_of},
    names::{ContenderName, KAZOO_TURNS, PERMITS, Role, TURNS},
    session::{Session, retry},
    store::{ZooKeeperStore, unavailable},
    strangers::has_strangers,
};

/// The longest time that a caller that does not wait leaves others to take free permits.
const LONGEST_TURN: Duration = Duration::from_secs(1);

impl ZooKeeperStore {
    /// How long a caller that does not wait leaves others to take free permits. Each of those that came
    /// before takes several commands, and a slow ensemble needs a part of the command timeout for each:
    /// if the caller gave up after less, it would be refused although permits are free. One whose process
    /// has died stays in the way until its session ends, so there is a limit.
    fn turn(&self) -> Duration {
        (self.command_timeout / 2).min(LONGEST_TURN)
    }

    pub(super) async fn take_permit(
        &self,
        command: &AcquireCommand,
        contender: &Arc<Contender>,
        state: &mut ContenderState,
        session: &Arc<Session>,
        data: &str,
    ) -> Result<TryOutcome, Error> {
        let permits = usize::try_from(command.permits).unwrap_or(usize::MAX);
        let folder = &contender.path;
        if holds_another_recipe(session, folder).await? {
            return Ok(TryOutcome::Refused(Acquired::WrongKind));
        }
        // An earlier try may have created the permit, with no answer to what came after. With a second
        // turn this contender would be behind others that wait for the very permit that it has.
        if !state.znode.is_there(session).await? {
            let refused = self.wait_for_turn(command, contender, state, session, data).await?;
            if let Some(refused) = refused {
                return Ok(TryOutcome::Refused(refused));
            }
            // Only the first in line takes a permit: no other can take one between this look and the
            // creation that follows. If its session has ended meanwhile, that creation fails.
            let leases = format!("{folder}/{PERMITS}");
            if self.watch_permits(contender, state, session, &leases).await? >= permits {
                return Ok(TryOutcome::Refused(BUSY));
            }
            state.znode.create(session, data).await?;
        }
        // The permit is the holder's now. Its place in line is deleted at once: until then no other
        // contender takes a permit, although more may be free.
        if let Some(queue) = &mut state.queue {
            queue.delete(session).await?;
        }
        Ok(TryOutcome::Holds)
    }

    /// Returns why the contender is not the first in line; `None` if it is.
    async fn wait_for_turn(
        &self,
        command: &AcquireCommand,
        contender: &Arc<Contender>,
        state: &mut ContenderState,
        session: &Arc<Session>,
        data: &str,
    ) -> Result<Option<Acquired>, Error> {
        let permits = usize::try_from(command.permits).unwrap_or(usize::MAX);
        let folder = &contender.path;
        loop {
            let Some(queue) = &mut state.queue else {
                return Ok(Some(Acquired::Lost));
            };
            let turns = queue.create(session, data).await?;
            match position_of(&turns, queue.name().unwrap_or_default()) {
                Position::Holds => return Ok(None),
                Position::OtherRecipe => return Ok(Some(Acquired::WrongKind)),
                Position::Gone => queue.vanished(),
                Position::Behind(name) => {
                    let path = format!("{folder}/{TURNS}/{name}");
                    if !self.watch(contender, state, session, path).await? {
                        continue;
                    }
                    // The one ahead waits too, unless permits are free: then it is about to take one.
                    let is_about_to =
                        command.place.is_none() && permits_in_use(session, folder).await? < permits;
                    if !is_about_to {
                        return Ok(Some(BUSY));
                    }
                    let taken = tokio::time::timeout(self.turn(), state.watched()).await;
                    if taken.is_err() {
                        return Ok(Some(BUSY));
                    }
                }
            }
        }
    }

    /// Returns how many permits are free, for a semaphore of this size; negative if too many are in
    /// use. `None` if the path is that of another lock.
    pub(super) async fn count_free_permits(
        &self,
        key: &LockKey,
        permits: u32,
    ) -> Result<Option<i64>, StoreError> {
        let path = self.root.path_of(key)?;
        let session = self.sessions.current().await?;
        if holds_another_recipe(&session, &path).await.map_err(unavailable)? {
            return Ok(None);
        }
        let in_use = permits_in_use(&session, &path).await.map_err(unavailable)?;
        Ok(Some(i64::from(permits) - i64::try_from(in_use).unwrap_or(i64::MAX)))
    }

    /// The number of permits in use. If any change, the contender is woken.
    async fn watch_permits(
        &self,
        contender: &Arc<Contender>,
        state: &mut ContenderState,
        session: &Arc<Session>,
        leases: &str,
    ) -> Result<usize, Error> {
        let watched = retry(|| session.client.get_and_watch_children(leases)).await;
        let (children, watcher) = match watched {
            Ok((children, _, watcher)) => (children, watcher),
            Err(Error::NoNode) => return Ok(0),
            Err(why) => return Err(why),
        };
        self.wake_by(contender, state, leases.to_owned(), watcher);
        Ok(count(&children))
    }
}

/// The number of permits in use.
pub(super) async fn permits_in_use(session: &Session, folder: &str) -> Result<usize, Error> {
    Ok(count(&session.children_now(&format!("{folder}/{PERMITS}")).await?))
}

fn count(children: &[String]) -> usize {
    let is_permit =
        |child: &&String| ContenderName::parse(child).is_some_and(|one| one.role == Role::Permit);
    children.iter().filter(is_permit).count()
}

/// Whether contenders for something that is not this semaphore are under its path.
async fn holds_another_recipe(session: &Session, folder: &str) -> Result<bool, Error> {
    let children = match retry(|| session.client.get_children(folder)).await {
        Ok((children, _)) => children,
        Err(Error::NoNode) => return Ok(false),
        Err(why) => return Err(why),
    };
    let is_another = |child: &String| ContenderName::parse(child).is_some() || child == KAZOO_TURNS;
    Ok(children.iter().any(is_another) || has_strangers(session, folder, &children).await?)
}
