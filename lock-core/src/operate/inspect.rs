//! Reads the state of a key from the store, with the known details of its owners.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{StreamExt, future::join, stream};
use lock_store::{
    ClientInfo, Kind, LockKey, LockSnapshot, OwnerId, StoreFuture, runtime::LeaseInstant,
};

use crate::{
    hold::ClientInner,
    report,
    types::{HolderInfo, HotKey, InspectError, Inspection, WaiterInfo, WorkInfo, WrongKind},
};

/// How many other clients' hot keys are added up.
const MOST_CLIENTS: usize = 128;
/// How many locks are inspected at the same time.
const AT_ONCE: usize = 64;

/// Returns the store's state of `key`.
pub(crate) async fn snapshot(
    client: &Arc<ClientInner>,
    key: &LockKey,
) -> Result<LockSnapshot, InspectError> {
    let found = client.admin()?.inspect(key.clone());
    answered(client, key, found).await
}

async fn answered(
    client: &Arc<ClientInner>,
    key: &LockKey,
    found: StoreFuture<'_, Option<LockSnapshot>>,
) -> Result<LockSnapshot, InspectError> {
    let sent = LeaseInstant::now();
    let snapshot = found.await.inspect_err(|why| {
        if why.is_silent() {
            client.open_breaker(key, sent);
        }
    })?;
    Ok(snapshot.ok_or_else(|| WrongKind { key: key.clone(), kind: Kind::ReadWrite })?)
}

/// As [`inspect`], without the waiters. Each long wait calls it: with all waiters, and two keys read for
/// each of them, a crowd that waits for one key would cost the store its square.
pub(crate) async fn holders(
    client: &Arc<ClientInner>,
    key: &LockKey,
) -> Result<Inspection, InspectError> {
    let found = client.admin()?.inspect_holders(key.clone());
    let found = answered(client, key, found).await?;
    let known = Known::of(client, std::iter::once(&found)).await;
    Ok(known.inspection(found))
}

pub(crate) async fn inspect(
    client: &Arc<ClientInner>,
    key: &LockKey,
) -> Result<Inspection, InspectError> {
    let mut seen = inspect_all(client, vec![key.clone()]).await;
    seen.pop().expect("BUG: one lock was inspected")
}

/// Inspects several locks. Names and work of all owners are read together afterwards.
pub(crate) async fn inspect_all(
    client: &Arc<ClientInner>,
    keys: Vec<LockKey>,
) -> Vec<Result<Inspection, InspectError>> {
    let snapshots = keys.into_iter().map(|key| async move { snapshot(client, &key).await });
    let snapshots: Vec<_> = stream::iter(snapshots).buffered(AT_ONCE).collect().await;
    let known = Known::of(client, snapshots.iter().flatten()).await;
    snapshots.into_iter().map(|found| Ok(known.inspection(found?))).collect()
}

/// The hot keys of this client, and of those that have one of these owners.
pub(crate) async fn hot_keys_of(
    client: &ClientInner,
    owners: &[String],
    limit: usize,
) -> Result<Vec<HotKey>, InspectError> {
    let own = client.owners.client().as_str();
    let clients = owners.iter().filter_map(|owner| client_of(owner));
    let clients: BTreeSet<_> = clients.filter(|client| client != own).collect();
    let records = clients.iter().take(MOST_CLIENTS).map(|client| OwnerId::text_of_whole(client));
    let records = client.admin()?.work(records.collect()).await?;
    let mut all = client.statistics.hot_keys.top(usize::MAX);
    all.extend(records.iter().flatten().flat_map(|text| HotKey::parse_all(text)));
    Ok(report::sum(all, limit))
}

/// The records about owners, which are apart from their locks.
#[derive(Default)]
struct Known {
    clients: HashMap<String, Option<ClientInfo>>,
    works: HashMap<String, Option<String>>,
}

impl Known {
    /// A record that cannot be read stays unknown: the locks themselves are known.
    async fn of(client: &ClientInner, found: impl Iterator<Item = &LockSnapshot>) -> Self {
        let owners = found.flat_map(|snapshot| {
            let holders = snapshot.holders.iter().map(|holder| &holder.owner);
            holders.chain(snapshot.waiters.iter().map(|waiter| &waiter.owner)).cloned()
        });
        let owners: Vec<_> = owners.collect();
        let mut clients: Vec<_> = owners.iter().filter_map(|owner| client_of(owner)).collect();
        clients.sort_unstable();
        clients.dedup();
        let Ok(admin) = client.admin() else { return Self::default() };
        let names = admin.client_names(clients.clone());
        let (names, works) = join(names, admin.work(owners.clone())).await;
        Self {
            clients: clients.into_iter().zip(names.unwrap_or_default()).collect(),
            works: owners.into_iter().zip(works.unwrap_or_default()).collect(),
        }
    }

    fn inspection(&self, found: LockSnapshot) -> Inspection {
        let holders = found.holders.into_iter().map(|holder| {
            let work = self.work(holder.work, &holder.owner);
            HolderInfo {
                client: holder.client.or_else(|| self.client(&holder.owner)),
                owner: holder.owner,
                reads: holder.holds.read,
                writes: holder.holds.write,
                remaining: holder.remaining,
                age: holder.age.or_else(|| age(work.as_ref())),
                work,
            }
        });
        let waiters = found.waiters.into_iter().map(|waiter| {
            let work = self.work(waiter.work, &waiter.owner);
            WaiterInfo {
                client: waiter.client.or_else(|| self.client(&waiter.owner)),
                owner: waiter.owner,
                mode: waiter.mode,
                age: waiter.age.or_else(|| age(work.as_ref())),
                work,
            }
        });
        let (holders, waiters): (Vec<_>, Vec<_>) = (holders.collect(), waiters.collect());
        let works = holders.iter().map(|holder: &HolderInfo| &holder.work);
        let works = works.chain(waiters.iter().map(|waiter: &WaiterInfo| &waiter.work));
        let local_waiters = works.flatten().map(|work| work.local_waiters);
        Inspection {
            waiting: local_waiters.fold(waiters.len(), usize::saturating_add),
            kind: found.kind,
            mode: found.mode,
            holders,
            remaining: found.remaining,
            waiters,
            free_permits: found.free_permits,
            fencing_token: found.token,
            complete: found.complete,
        }
    }

    fn client(&self, owner: &str) -> Option<ClientInfo> {
        self.clients.get(&client_of(owner)?).cloned().flatten()
    }

    /// `beside`: the work that the store has beside the owner.
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
