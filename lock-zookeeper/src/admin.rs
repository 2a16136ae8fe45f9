//! The operator's side: inspects the znodes under a lock's path, and takes locks away.

use std::{
    collections::VecDeque,
    time::{Duration, SystemTime},
};

use futures_util::FutureExt;
use lock_store::{
    ClientInfo, FencingToken, ForcedRelease, Holder, HolderSnapshot, Holds, KeyPage, Kind, LockKey,
    LockSnapshot, Mode, StoreAdmin, StoreError, StoreFuture, WaiterSnapshot,
};
use zookeeper_client::{Error, MultiReadResult};

use super::{
    line::divide,
    names::{Contender, PERMITS, Role, TURNS},
    requests::REVOKE,
    session::{Session, retry},
    store::{ZooKeeperStore, unavailable},
    tokens::{last_token_of, token_of},
};

/// How many contenders of one lock are described.
const MOST_SHOWN: usize = 512;
/// How many znodes a list of locks looks at.
const MOST_VISITED: usize = 10_000;

/// The znodes under the path of a lock.
enum Found {
    /// Children of the path itself, sorted by role.
    Line(Vec<String>),
    Semaphore {
        permits: Vec<String>,
        turns: Vec<String>,
    },
    Nothing,
}

/// One znode, described.
struct Described {
    owner: String,
    kind: Option<Kind>,
    client: Option<ClientInfo>,
    age: Option<Duration>,
    work: Option<String>,
    czxid: i64,
}

impl ZooKeeperStore {
    async fn find(&self, session: &Session, path: &str) -> Result<Found, Error> {
        let children = session.children_now(path).await?;
        if children.iter().any(|child| Contender::parse(child).is_some()) {
            return Ok(Found::Line(children));
        }
        if !children.iter().any(|child| child == PERMITS) {
            return Ok(Found::Nothing);
        }
        let permits = session.children_now(&format!("{path}/{PERMITS}")).await?;
        let turns = session.children_now(&format!("{path}/{TURNS}")).await?;
        Ok(Found::Semaphore { permits, turns })
    }

    /// Reads the znodes of one folder; znodes that have gone meanwhile are left out.
    async fn describe(
        &self,
        session: &Session,
        folder: &str,
        names: &[Contender<'_>],
    ) -> Result<Vec<(Role, Described)>, Error> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let ask = || async {
            let mut reader = session.client.new_multi_reader();
            for name in names.iter().take(MOST_SHOWN) {
                reader.add_get_data(&format!("{folder}/{}", name.name))?;
            }
            reader.commit().await
        };
        let found = retry(ask).await?;
        let described = names.iter().zip(found).filter_map(|(name, found)| match found {
            MultiReadResult::Data { data, stat } => {
                Some((name.role, Described::of(name.name, &data, stat.ctime, stat.czxid)))
            }
            _ => None,
        });
        Ok(described.collect())
    }

    async fn look(&self, key: &LockKey, lists_waiters: bool) -> Result<LockSnapshot, StoreError> {
        let path = self.root.path_of(key)?;
        let session = self.sessions.current().await?;
        let shown = async {
            Ok(match self.find(&session, &path).await? {
                Found::Nothing => LockSnapshot::default(),
                Found::Line(children) => {
                    let (holders, mut waiters) = divide(&children);
                    waiters.retain(|_| lists_waiters);
                    let complete = holders.len().max(waiters.len()) <= MOST_SHOWN;
                    let holders = self.describe(&session, &path, &holders).await?;
                    let waiters = self.describe(&session, &path, &waiters).await?;
                    snapshot(holders, waiters, complete)
                }
                Found::Semaphore { permits, turns } => {
                    let (folder, queue) = (format!("{path}/{PERMITS}"), format!("{path}/{TURNS}"));
                    let (holders, mut turns) = (divide(&permits).0, super::names::in_order(&turns));
                    turns.retain(|_| lists_waiters);
                    let complete = holders.len().max(turns.len()) <= MOST_SHOWN;
                    let holders = self.describe(&session, &folder, &holders).await?;
                    let waiters = self.describe(&session, &queue, &turns).await?;
                    snapshot(holders, waiters, complete)
                }
            })
        };
        let mut snapshot = shown.await.map_err(unavailable)?;
        self.add_own_counts(key, &mut snapshot).await;
        Ok(snapshot)
    }

    /// How often an owner holds a lock is known to its own process alone.
    async fn add_own_counts(&self, key: &LockKey, snapshot: &mut LockSnapshot) {
        for contender in self.contenders.of_key(key) {
            let owner = contender.holder.owner.to_string();
            let own = snapshot.holders.iter_mut().find(|holder| holder.owner == owner);
            if let Some(own) = own {
                own.holds = contender.state.lock().await.holds;
            }
        }
    }

    /// The paths of the holders' znodes, and the token that the next one must exceed.
    async fn holders(
        &self,
        session: &Session,
        path: &str,
    ) -> Result<(Vec<String>, Option<FencingToken>), Error> {
        let (folder, children) = match self.find(session, path).await? {
            Found::Nothing => return Ok((Vec::new(), None)),
            Found::Line(children) => (path.to_owned(), children),
            Found::Semaphore { permits, .. } => (format!("{path}/{PERMITS}"), permits),
        };
        let (holders, waiters) = divide(&children);
        let paths = holders.iter().map(|one| format!("{folder}/{}", one.name)).collect();
        if holders.first().is_some_and(|one| one.role == Role::Permit) {
            return Ok((paths, None));
        }
        let newest = |all: Vec<(Role, Described)>| all.into_iter().map(|(_, one)| one.czxid).max();
        let last = newest(self.describe(session, &folder, &holders).await?).map(last_token_of);
        let first_waiter = waiters.get(..1).unwrap_or_default();
        let next = newest(self.describe(session, &folder, first_waiter).await?);
        // After a downgrade the holder's znode is newer than those that wait, and its token is older.
        let before_next = next.map(|czxid| last_token_of(czxid - 1));
        Ok((paths, last.map(|last| before_next.map_or(last, |next| last.min(next)))))
    }

    async fn take_away(&self, key: &LockKey) -> Result<ForcedRelease, StoreError> {
        let path = self.root.path_of(key)?;
        let session = self.sessions.current().await?;
        let taken = async {
            let (holders, last) = self.holders(&session, &path).await?;
            for holder in &holders {
                match retry(|| session.client.delete(holder, None)).await {
                    Ok(()) | Err(Error::NoNode) => {}
                    Err(why) => return Err(why),
                }
            }
            if !holders.is_empty() {
                return Ok(ForcedRelease::new(true, last));
            }
            // Free: a write of now exceeds every earlier holder's token.
            session.make_folder(&path).await?;
            let stat = retry(|| session.client.set_data(&path, b"", None)).await?;
            Ok(ForcedRelease::new(false, Some(last_token_of(stat.mzxid))))
        };
        taken.await.map_err(unavailable)
    }

    async fn revoke(&self, key: &LockKey) -> Result<u32, StoreError> {
        let path = self.root.path_of(key)?;
        let session = self.sessions.current().await?;
        let revoked = async {
            let mut count = 0;
            for holder in self.holders(&session, &path).await?.0 {
                match retry(|| session.client.set_data(&holder, REVOKE, None)).await {
                    Ok(_) => count += 1,
                    Err(Error::NoNode) => {}
                    Err(why) => return Err(why),
                }
            }
            Ok(count)
        };
        revoked.await.map_err(unavailable)
    }

    /// Walks the folders of locks, nearest first: all of them for each page.
    async fn walk(&self, prefix: &str, after: &str, limit: usize) -> Result<KeyPage, Error> {
        let session = self.sessions.current().await.map_err(|_| Error::ConnectionLoss)?;
        let root = self.root.folder().trim_end_matches('/').to_owned();
        let wanted = format!("{root}/{prefix}");
        let (mut folders, mut keys) = (VecDeque::from([root]), Vec::new());
        let (mut visited, mut complete) = (0, true);
        while let Some(folder) = folders.pop_front() {
            if visited >= MOST_VISITED {
                complete = false;
                break;
            }
            visited += 1;
            let path = if folder.is_empty() { "/" } else { folder.as_str() };
            let children = match retry(|| session.client.get_children(path)).await {
                Ok((children, _)) => children,
                Err(Error::NoNode | Error::NoAuth) => continue,
                Err(why) => return Err(why),
            };
            let is_lock =
                children.iter().any(|child| Contender::parse(child).is_some() || child == PERMITS);
            if is_lock && folder.starts_with(&wanted) {
                keys.extend(self.root.key_of(&folder));
            }
            let below = children.into_iter().filter(|child| {
                Contender::parse(child).is_none() && !matches!(child.as_str(), PERMITS | TURNS)
            });
            let below = below.map(|child| format!("{folder}/{child}"));
            folders.extend(
                below.filter(|path| path.starts_with(&wanted) || wanted.starts_with(path.as_str())),
            );
        }
        keys.retain(|key: &LockKey| key.as_str() > after);
        keys.sort_unstable();
        let mut page = KeyPage::cut(keys, limit);
        page.complete = complete;
        Ok(page)
    }
}

impl Described {
    /// Ours contains `<service> <instance> <kind> <owner>`, and after a while its work; Curator's
    /// contains an address, or a text of its user.
    fn of(name: &str, data: &[u8], ctime: i64, czxid: i64) -> Self {
        let text = String::from_utf8_lossy(data);
        let words: Vec<_> = text.splitn(5, ' ').collect();
        let ctime = Duration::from_millis(u64::try_from(ctime).unwrap_or_default());
        let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + ctime).ok();
        let (owner, kind, client, work) = match words.as_slice() {
            [service, instance, kind, owner, work @ ..] if kind.parse::<Kind>().is_ok() => {
                let client = ClientInfo::new(*service, *instance);
                let work = work.first().map(|work| (*work).to_owned());
                ((*owner).to_owned(), kind.parse().ok(), Some(client), work)
            }
            [""] => (name.to_owned(), None, None, None),
            _ => (format!("{name} ({text})"), None, None, None),
        };
        Self { owner, kind, client, age, work, czxid }
    }
}

fn snapshot(
    holders: Vec<(Role, Described)>,
    waiters: Vec<(Role, Described)>,
    complete: bool,
) -> LockSnapshot {
    let first = holders.first().or(waiters.first());
    let role = first.map(|(role, _)| *role);
    let newest_token = holders.iter().map(|(_, one)| one.czxid).max().map(token_of);
    let by_role = |role| match role {
        Role::Mutex | Role::MutexOrWrite => Kind::Reentrant,
        Role::Read | Role::Write => Kind::ReadWrite,
        Role::Permit => Kind::Semaphore,
    };
    let mut snapshot = LockSnapshot::default();
    snapshot.kind = first.map(|(role, one)| one.kind.unwrap_or_else(|| by_role(*role)));
    snapshot.mode = holders.first().map(|(role, _)| mode_of(*role));
    snapshot.token = newest_token.filter(|_| role != Some(Role::Permit));
    snapshot.holders = holders.into_iter().map(holder).collect();
    snapshot.waiters = waiters.into_iter().map(waiter).collect();
    snapshot.complete = complete;
    snapshot
}

fn holder((role, one): (Role, Described)) -> HolderSnapshot {
    let mut holder = HolderSnapshot::new(one.owner, holds_of(role), None);
    (holder.client, holder.age, holder.work) = (one.client, one.age, one.work);
    holder
}

fn waiter((role, one): (Role, Described)) -> WaiterSnapshot {
    let mut waiter = WaiterSnapshot::new(one.owner, mode_of(role));
    (waiter.client, waiter.age, waiter.work) = (one.client, one.age, one.work);
    waiter
}

fn mode_of(role: Role) -> Mode {
    if role == Role::Read { Mode::Read } else { Mode::Write }
}

fn holds_of(role: Role) -> Holds {
    let mut holds = Holds::default();
    *holds.of_mut(mode_of(role)) = 1;
    holds
}

impl StoreAdmin for ZooKeeperStore {
    fn inspect(&self, key: LockKey) -> StoreFuture<'_, Option<LockSnapshot>> {
        async move { Ok(Some(self.within(self.look(&key, true)).await?)) }.boxed()
    }

    fn inspect_holders(&self, key: LockKey) -> StoreFuture<'_, Option<LockSnapshot>> {
        async move { Ok(Some(self.within(self.look(&key, false)).await?)) }.boxed()
    }

    fn list(
        &self,
        prefix: String,
        after: Option<String>,
        limit: usize,
    ) -> StoreFuture<'_, KeyPage> {
        let after = after.unwrap_or_default();
        async move { self.walk(&prefix, &after, limit).await.map_err(unavailable) }.boxed()
    }

    fn force_release(&self, key: LockKey) -> StoreFuture<'_, Option<ForcedRelease>> {
        async move { Ok(Some(self.within(self.take_away(&key)).await?)) }.boxed()
    }

    fn request_release(&self, key: LockKey) -> StoreFuture<'_, Option<u32>> {
        async move { Ok(Some(self.within(self.revoke(&key)).await?)) }.boxed()
    }

    fn release_requested(&self, holder: Holder) -> StoreFuture<'_, bool> {
        async move { self.within(self.is_revoked(&holder)).await }.boxed()
    }
}
