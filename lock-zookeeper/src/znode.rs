//! One znode of a contender: created once, and deleted until it is certain that it is gone.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
};

use futures_util::future::join;
use zookeeper_client::{Acls, CreateMode, Error, MultiWriteError};

use super::{
    names::Role,
    session::{Session, is_lost, retry},
};

/// The data of a holder whose release is requested, by Curator's revocation.
pub(super) const REVOKE: &[u8] = b"__REVOKE__";

/// A znode that may exist. Its name begins with a unique uuid, so that it is found again when its
/// creation was not answered.
#[derive(Debug)]
pub(crate) struct Znode {
    folder: String,
    /// Up to the sequence.
    prefix: String,
    /// Its whole name and its creation's transaction, once known.
    created: Option<(String, i64)>,
    /// How often its data was written since.
    data_version: i32,
    /// A creation was sent and not answered.
    in_doubt: bool,
    /// A deletion was sent: if it is not there, that deletion may be why.
    is_deleted: bool,
}

impl Znode {
    pub(crate) fn new(folder: String, role: Role) -> Self {
        Self {
            folder,
            prefix: role.new_name(),
            created: None,
            data_version: 0,
            in_doubt: false,
            is_deleted: false,
        }
    }

    /// A reader with the sequence of the write that it follows. `None` if that was not created, or is
    /// such a reader itself, whose prefix has the sequence already.
    pub(crate) fn read_after(write: &Self) -> Option<Self> {
        let (name, _) = write.created.as_ref()?;
        let sequence = name.strip_prefix(write.prefix.as_str())?;
        if sequence.is_empty() {
            return None;
        }
        let prefix = format!("{}{sequence}", Role::Read.new_name());
        let folder = write.folder.clone();
        Some(Self {
            folder,
            prefix,
            created: None,
            data_version: 0,
            in_doubt: false,
            is_deleted: false,
        })
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.created.as_ref().map(|(name, _)| name.as_str())
    }

    pub(crate) fn path(&self) -> Option<String> {
        self.name().map(|name| format!("{}/{name}", self.folder))
    }

    /// The transaction that created it.
    pub(crate) fn czxid(&self) -> Option<i64> {
        self.created.as_ref().map(|(_, czxid)| *czxid)
    }

    /// Whether it may exist.
    pub(crate) fn may_exist(&self) -> bool {
        self.in_doubt || self.created.is_some()
    }

    /// Whether it is among these paths. A reader that follows a write has its whole name before it is
    /// created.
    pub(crate) fn is_among(&self, held: &HashSet<String>) -> bool {
        let in_doubt = || self.in_doubt.then(|| format!("{}/{}", self.folder, self.prefix));
        self.path().or_else(in_doubt).is_some_and(|path| held.contains(&path))
    }

    /// It is not there any more, in a way that needs no deletion.
    pub(crate) fn vanished(&mut self) {
        (self.created, self.in_doubt, self.data_version) = (None, false, 0);
    }

    /// Creates it as ephemeral and sequential if it is not there, and returns the children of its
    /// folder, at or after that moment.
    ///
    /// Dropped at any point it stays in doubt until it is found or deleted.
    pub(crate) async fn create(
        &mut self,
        session: &Session,
        data: &str,
    ) -> Result<Vec<String>, Error> {
        if self.created.is_some() {
            return session.children_now(&self.folder).await;
        }
        loop {
            if self.in_doubt && self.find(session).await? {
                return session.children_now(&self.folder).await;
            }
            // Before it is sent: a caller that is dropped from here on may have created it, and the
            // cleanup must look for it.
            self.in_doubt = true;
            let path = format!("{}/{}", self.folder, self.prefix);
            let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
            // Both are sent now, in this order: the list contains the created znode.
            let created = session.client.create(&path, data.as_bytes(), &options);
            let listed = session.client.get_children(&self.folder);
            let (created, listed) = join(created, listed).await;
            match created {
                Ok((stat, sequence)) => {
                    self.created = Some((format!("{}{sequence}", self.prefix), stat.czxid));
                    self.in_doubt = false;
                    return match listed {
                        Ok((children, _)) => Ok(children),
                        Err(_) => session.children_now(&self.folder).await,
                    };
                }
                Err(Error::NoNode) => {
                    self.in_doubt = false;
                    session.make_folder(&self.folder).await?;
                }
                // It may have been created: it is looked for over the next connection.
                Err(why) if is_lost(&why) => tokio::task::yield_now().await,
                Err(why) => return Err(why),
            }
        }
    }

    /// Writes its data anew, unless another client has written it: then it contains a request to
    /// release.
    pub(crate) async fn write(&mut self, session: &Session, data: &str) -> Result<(), Error> {
        let Some(path) = self.path() else { return Ok(()) };
        let version = Some(self.data_version);
        match session.client.set_data(&path, data.as_bytes(), version).await {
            Ok(stat) => {
                self.data_version = stat.version;
                Ok(())
            }
            Err(Error::BadVersion | Error::NoNode) => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// Looks for it after a creation that was not answered.
    async fn find(&mut self, session: &Session) -> Result<bool, Error> {
        let children = session.children_now(&self.folder).await?;
        let Some(name) = children.into_iter().find(|name| name.starts_with(&self.prefix)) else {
            self.in_doubt = false;
            return Ok(false);
        };
        let path = format!("{}/{name}", self.folder);
        let stat = retry(|| session.client.check_stat(&path)).await?;
        self.in_doubt = false;
        self.created = stat.map(|stat| (name, stat.czxid));
        Ok(self.created.is_some())
    }

    /// Whether it is there: its creation may not have been answered, or an operator may have deleted it.
    pub(crate) async fn is_there(&mut self, session: &Session) -> Result<bool, Error> {
        if self.in_doubt {
            return self.find(session).await;
        }
        let Some(name) = self.name() else { return Ok(false) };
        let children = session.children_now(&self.folder).await?;
        let is_there = children.iter().any(|child| child == name);
        if !is_there {
            self.vanished();
        }
        Ok(is_there)
    }

    /// Deletes it, and returns whether it was there.
    ///
    /// After an error, and when it is dropped, it may still be there: it is to be called again.
    pub(crate) async fn delete(&mut self, session: &Session) -> Result<bool, Error> {
        if self.in_doubt && !self.find(session).await? {
            return Ok(false);
        }
        let Some(path) = self.path() else { return Ok(false) };
        // Before it is sent: if the reply is lost, the next deletion finds nothing, which must not
        // count as the loss of the lock.
        let is_repeated = std::mem::replace(&mut self.is_deleted, true);
        let was_lost = AtomicBool::new(false);
        let deleted = retry(|| async {
            let deleted = session.client.delete(&path, None).await;
            if deleted.as_ref().is_err_and(is_lost) {
                was_lost.store(true, Ordering::Relaxed);
            }
            deleted
        });
        let was_there = match deleted.await {
            Ok(()) => true,
            Err(Error::NoNode) => is_repeated || was_lost.into_inner(),
            Err(why) => return Err(why),
        };
        self.vanished();
        Ok(was_there)
    }

    /// Puts `next` in the place of this one, at one moment, so that no other contender comes between.
    /// Returns `None` if this one is not there.
    pub(crate) async fn replace(
        &mut self,
        next: &mut Self,
        session: &Session,
        data: &str,
    ) -> Result<Option<()>, Error> {
        let (mut version, mut data) = (self.data_version, data.as_bytes());
        loop {
            if next.in_doubt && next.find(session).await? {
                self.vanished();
                return Ok(Some(()));
            }
            let Some(former) = self.path() else { return Ok(None) };
            // Before it is sent: if the reply is lost, the new znode is looked for before anything
            // is created again.
            next.in_doubt = true;
            let path = format!("{}/{}", next.folder, next.prefix);
            let options = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
            let mut both = session.client.new_multi_writer();
            both.add_delete(&former, Some(version))?;
            both.add_create(&path, data, &options)?;
            match both.commit().await {
                Ok(_) => {
                    let stat = retry(|| session.client.check_stat(&path)).await?;
                    next.in_doubt = false;
                    next.created = stat.map(|stat| (next.prefix.clone(), stat.czxid));
                    self.vanished();
                    return Ok(next.created.is_some().then_some(()));
                }
                Err(MultiWriteError::RequestFailed { source }) if is_lost(&source) => {
                    tokio::task::yield_now().await;
                }
                Err(MultiWriteError::RequestFailed { source }) => return Err(source),
                Err(MultiWriteError::OperationFailed { source: Error::BadVersion, .. }) => {
                    next.in_doubt = false;
                    let (found, stat) = match retry(|| session.client.get_data(&former)).await {
                        Err(Error::NoNode) => continue,
                        found => found?,
                    };
                    version = stat.version;
                    if found == REVOKE {
                        // The request to release goes with it, and is not written over: see `write`.
                        (data, next.data_version) = (REVOKE, i32::MAX);
                    }
                }
                Err(MultiWriteError::OperationFailed { .. }) => {
                    next.in_doubt = false;
                    self.vanished();
                    return Ok(None);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::ContenderName;

    fn created(mut znode: Znode, sequence: &str) -> Znode {
        znode.created = Some((format!("{}{sequence}", znode.prefix), 7));
        znode
    }

    #[test]
    fn a_read_takes_the_place_of_a_write_and_nothing_that_of_a_read() {
        let write = Znode::new("/lock/k".to_owned(), Role::Write);
        assert!(Znode::read_after(&write).is_none(), "it was not created");
        let write = created(write, "0000000012");
        let read = created(Znode::read_after(&write).expect("a read"), "");
        let parsed = read.name().and_then(ContenderName::parse);
        let parsed = parsed.map(|parsed| (parsed.role, parsed.sequence));
        assert_eq!(parsed, Some((Role::Read, "0000000012")));
        assert!(Znode::read_after(&read).is_none());
    }
}
