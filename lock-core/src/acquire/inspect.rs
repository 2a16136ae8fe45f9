//! What the store has for a key, with what is known of its owners.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::future::try_join;

use crate::{
    hold::ClientInner,
    runtime::LeaseInstant,
    store::LockSnapshot,
    types::{
        ClientInfo, HolderInfo, InspectError, Inspection, Kind, LockKey, WaiterInfo, WorkInfo,
        WrongKind,
    },
};

/// What the store has for `key`.
pub(crate) async fn snapshot(
    engine: &Arc<ClientInner>,
    key: &LockKey,
) -> Result<LockSnapshot, InspectError> {
    let sent = LeaseInstant::now();
    let standing = engine.admin()?.inspect(key.clone()).await.inspect_err(|why| {
        if why.is_silent() {
            engine.open_breaker(key, sent);
        }
    })?;
    Ok(standing.ok_or_else(|| WrongKind { key: key.clone(), kind: Kind::ReadWrite })?)
}

pub(crate) async fn inspect(
    engine: &Arc<ClientInner>,
    key: &LockKey,
) -> Result<Inspection, InspectError> {
    let standing = snapshot(engine, key).await?;
    let known = Known::of(engine, &standing).await?;
    let holders = standing.holders.into_iter().map(|holder| {
        let work = known.work(holder.work, &holder.owner);
        HolderInfo {
            client: holder.client.or_else(|| known.client(&holder.owner)),
            owner: holder.owner,
            reads: holder.holds.read,
            writes: holder.holds.write,
            remaining: holder.remaining,
            age: holder.age.or_else(|| age(work.as_ref())),
            work,
        }
    });
    let waiters = standing.waiters.into_iter().map(|waiter| {
        let work = known.work(waiter.work, &waiter.owner);
        WaiterInfo {
            client: waiter.client.or_else(|| known.client(&waiter.owner)),
            owner: waiter.owner,
            mode: waiter.mode,
            age: waiter.age.or_else(|| age(work.as_ref())),
            work,
        }
    });
    Ok(Inspection {
        kind: standing.kind,
        mode: standing.mode,
        holders: holders.collect(),
        remaining: standing.remaining,
        waiters: waiters.collect(),
        free_permits: standing.free_permits,
        fencing_token: standing.token,
        complete: standing.complete,
    })
}

/// What is kept about owners apart from their locks.
struct Known {
    clients: HashMap<String, Option<ClientInfo>>,
    works: HashMap<String, Option<String>>,
}

impl Known {
    async fn of(engine: &ClientInner, standing: &LockSnapshot) -> Result<Self, InspectError> {
        let holders = standing.holders.iter().map(|holder| &holder.owner);
        let owners = holders.chain(standing.waiters.iter().map(|waiter| &waiter.owner));
        let owners: Vec<_> = owners.cloned().collect();
        let mut clients: Vec<_> = owners.iter().filter_map(|owner| client_of(owner)).collect();
        clients.sort_unstable();
        clients.dedup();
        let admin = engine.admin()?;
        let (names, works) =
            try_join(admin.client_names(clients.clone()), admin.work(owners.clone())).await?;
        Ok(Self {
            clients: clients.into_iter().zip(names).collect(),
            works: owners.into_iter().zip(works).collect(),
        })
    }

    fn client(&self, owner: &str) -> Option<ClientInfo> {
        self.clients.get(&client_of(owner)?).cloned().flatten()
    }

    /// `beside`: what the store has beside the owner.
    fn work(&self, beside: Option<String>, owner: &str) -> Option<WorkInfo> {
        let text = beside.or_else(|| self.works.get(owner).cloned().flatten())?;
        WorkInfo::parse(&text)
    }
}

/// By the clocks of the owner's host and of this one.
fn age(work: Option<&WorkInfo>) -> Option<Duration> {
    SystemTime::now().duration_since(work?.since?).ok()
}

/// The client in an owner of the shape `<client>:<number>`.
fn client_of(owner: &str) -> Option<String> {
    owner.rsplit_once(':').map(|(client, _)| client.to_owned())
}
