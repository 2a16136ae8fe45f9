//! Curator's `InterProcessSemaphoreV2`: whoever is first in `locks` takes a permit in `leases` once
//! there are fewer than the semaphore has, and then leaves `locks`.

use std::sync::Arc;

use zookeeper_client::Error;

use super::{
    contenders::{Contender, ContenderState},
    line::{Standing, standing},
    names::{Contender as Name, PERMITS, Role, TURNS},
    session::{Session, retry},
    store::{BUSY, Stands, ZooKeeperStore},
};
use crate::store::Acquired;

impl ZooKeeperStore {
    pub(super) async fn take_permit(
        &self,
        contender: &Arc<Contender>,
        state: &mut ContenderState,
        session: &Arc<Session>,
        data: &str,
        permits: u32,
    ) -> Result<Stands, Error> {
        let folder = &contender.path;
        if holds_another_recipe(session, folder).await? {
            return Ok(Stands::Behind(Acquired::WrongKind));
        }
        loop {
            let Some(queue) = &mut state.queue else { return Ok(Stands::Behind(Acquired::Lost)) };
            let turns = queue.create(session, data).await?;
            match standing(&turns, queue.name().unwrap_or_default()) {
                Standing::Holds => break,
                Standing::OtherRecipe => return Ok(Stands::Behind(Acquired::WrongKind)),
                Standing::Gone => queue.vanished(),
                Standing::Behind(name) => {
                    let path = format!("{folder}/{TURNS}/{name}");
                    if self.watch(contender, state, session, path).await? {
                        return Ok(Stands::Behind(BUSY));
                    }
                }
            }
        }
        // Only the first in line takes a permit: nobody else can take one between this look and the
        // creation that follows. If its session has ended meanwhile, that creation fails.
        let leases = format!("{folder}/{PERMITS}");
        if !state.znode.may_exist()
            && self.in_use(contender, state, session, &leases).await? >= permits as usize
        {
            return Ok(Stands::Behind(BUSY));
        }
        state.znode.create(session, data).await?;
        // It is the holder's now. Until its place in the line is deleted nobody else gets a permit.
        if let Some(queue) = &mut state.queue {
            queue.delete(session).await?;
        }
        Ok(Stands::Holds)
    }

    /// The number of permits in use. If any change, the contender is woken.
    async fn in_use(
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
        Ok(children
            .iter()
            .filter(|child| Name::parse(child).is_some_and(|one| one.role == Role::Permit))
            .count())
    }
}

/// Whether contenders for something that is not a semaphore are under its path.
async fn holds_another_recipe(session: &Session, folder: &str) -> Result<bool, Error> {
    match retry(|| session.client.get_children(folder)).await {
        Ok((children, _)) => Ok(children.iter().any(|child| Name::parse(child).is_some())),
        Err(Error::NoNode) => Ok(false),
        Err(why) => Err(why),
    }
}
