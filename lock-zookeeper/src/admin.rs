//! The operator's side: inspects the znodes under a lock's path, and takes locks away.

use std::collections::VecDeque;

use futures_util::FutureExt;
use lock_store::{
    FencingToken, ForcedRelease, Holder, KeyPage, LockKey, LockSnapshot, StoreAdmin, StoreError,
    StoreFuture,
};
use zookeeper_client::{Error, MultiReadResult};

use super::{
    described::{Described, snapshot},
    line::divide,
    names::{ContenderName, PERMITS, Role, TURNS},
    session::{Session, retry},
    store::{ZooKeeperStore, unavailable},
    tokens::last_token_of,
    znode::REVOKE,
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

impl ZooKeeperStore {
    async fn find(&self, session: &Session, path: &str) -> Result<Found, Error> {
        let children = session.children_now(path).await?;
        if children.iter().any(|child| ContenderName::parse(child).is_some()) {
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
        names: &[ContenderName<'_>],
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

    /// The paths of the holders' znodes, and the token that the next one must exceed. `None` if
    /// there is an owner that has to be one of the holders, and is not.
    async fn holders(
        &self,
        session: &Session,
        path: &str,
        if_held_by: Option<String>,
    ) -> Result<Option<(Vec<String>, Option<FencingToken>)>, Error> {
        let (folder, children) = match self.find(session, path).await? {
            Found::Nothing => return Ok(if_held_by.is_none().then(|| (Vec::new(), None))),
            Found::Line(children) => (path.to_owned(), children),
            Found::Semaphore { permits, .. } => (format!("{path}/{PERMITS}"), permits),
        };
        let (holders, waiters) = divide(&children);
        let paths = holders.iter().map(|one| format!("{folder}/{}", one.name)).collect();
        // The names of znodes are never used again: what is deleted by them is what was seen here.
        let described = self.describe(session, &folder, &holders).await?;
        if let Some(owner) = if_held_by
            && described.iter().all(|(_, one)| one.owner != owner)
        {
            return Ok(None);
        }
        if holders.first().is_some_and(|one| one.role == Role::Permit) {
            return Ok(Some((paths, None)));
        }
        let newest = |all: Vec<(Role, Described)>| all.into_iter().map(|(_, one)| one.czxid).max();
        let last = newest(described).map(last_token_of);
        let first_waiter = waiters.get(..1).unwrap_or_default();
        let next = newest(self.describe(session, &folder, first_waiter).await?);
        // After a downgrade the holder's znode is newer than those that wait, and its token is older.
        let before_next = next.map(|czxid| last_token_of(czxid - 1));
        let last = last.map(|last| before_next.map_or(last, |next| last.min(next)));
        Ok(Some((paths, last)))
    }

    async fn take_away(
        &self,
        key: &LockKey,
        if_held_by: Option<String>,
    ) -> Result<ForcedRelease, StoreError> {
        let path = self.root.path_of(key)?;
        let session = self.sessions.current().await?;
        let taken = async {
            let Some((holders, last)) = self.holders(&session, &path, if_held_by).await? else {
                return Ok(ForcedRelease::new(false, None));
            };
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

    async fn revoke(&self, key: &LockKey, if_held_by: Option<String>) -> Result<u32, StoreError> {
        let path = self.root.path_of(key)?;
        let session = self.sessions.current().await?;
        let revoked = async {
            let mut count = 0;
            let holders = self.holders(&session, &path, if_held_by).await?;
            for holder in holders.map_or_else(Vec::new, |(paths, _)| paths) {
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
            let is_lock = children
                .iter()
                .any(|child| ContenderName::parse(child).is_some() || child == PERMITS);
            if is_lock && folder.starts_with(&wanted) {
                keys.extend(self.root.key_of(&folder));
            }
            let below = children.into_iter().filter(|child| {
                ContenderName::parse(child).is_none() && !matches!(child.as_str(), PERMITS | TURNS)
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

    fn force_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<ForcedRelease>> {
        async move { Ok(Some(self.within(self.take_away(&key, if_held_by)).await?)) }.boxed()
    }

    fn request_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<u32>> {
        async move { Ok(Some(self.within(self.revoke(&key, if_held_by)).await?)) }.boxed()
    }

    fn release_requested(&self, holder: Holder) -> StoreFuture<'_, bool> {
        async move { self.within(self.is_revoked(&holder)).await }.boxed()
    }
}
