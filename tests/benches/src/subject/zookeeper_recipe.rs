//! The lock recipe of the crate `zookeeper-client`, under the names that Curator uses.

use zookeeper_client::{Acls, Client, CreateMode, LockOptions, LockPrefix, OwnedLockClient};

#[derive(Clone)]
pub(crate) struct ZooKeeperRecipe(Client);

impl ZooKeeperRecipe {
    pub(super) async fn connect(url: &str) -> Self {
        let servers = url.strip_prefix("zookeeper://").expect("a URL of ZooKeeper");
        let client = Client::connector().with_session_timeout(super::LEASE).connect(servers).await;
        Self(client.expect("a server at the URL"))
    }

    /// A guard that is dropped deletes its znode in the background.
    pub(super) async fn take(&self, key: &str) -> OwnedLockClient {
        let folder = format!("/recipe/{key}");
        let prefix = LockPrefix::new_curator(&folder, "lock-").expect("a path");
        let folders = CreateMode::Container.with_acls(Acls::anyone_all());
        let options = LockOptions::new(Acls::anyone_all()).with_ancestor_options(folders);
        let lock = self.0.lock(prefix, b"", options.expect("folders may be containers")).await;
        lock.expect("a lock").into_owned()
    }
}
