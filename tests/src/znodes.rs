//! ZooKeeper's tree, seen without this library.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep};
use zookeeper_client::{Acls, Client, CreateMode, Error, Stat};

use crate::LIMIT;

/// Longer than any fault that a test injects.
const SESSION: Duration = Duration::from_secs(60);

/// Between two tries while there is no connection.
const RETRY: Duration = Duration::from_millis(50);

/// A session of its own, for assertions and preparation.
///
/// Every read shows all writes that were answered before it, also those that another member of an
/// ensemble has answered. A lost connection is no failure: the command is repeated for a while.
#[derive(Clone, Debug)]
pub struct Znodes {
    client: Client,
}

impl Znodes {
    /// Opens a session at these servers: `127.0.0.1:2181,127.0.0.1:2182`.
    pub async fn connect(servers: &str) -> Self {
        let connector = Client::connector().with_session_timeout(SESSION);
        match connector.connect(servers).await {
            Ok(client) => Self { client },
            Err(error) => panic!("no session at {servers}: {error}"),
        }
    }

    /// As [`connect`](Self::connect), as this user with this password.
    pub async fn connect_as(servers: &str, user: &str, password: &str) -> Self {
        let credentials = format!("{user}:{password}");
        let connector = Client::connector().with_session_timeout(SESSION);
        match connector.with_auth("digest", credentials.as_bytes()).connect(servers).await {
            Ok(client) => Self { client },
            Err(error) => panic!("no session at {servers}: {error}"),
        }
    }

    /// Creates a node and the parents that are missing. Replaces the data of a node that is there.
    pub async fn create(&self, path: &str, data: impl AsRef<[u8]>) {
        self.create_with(path, data.as_ref(), Acls::anyone_all()).await;
    }

    /// Creates a node that only the user of this session may see or change, and its missing parents,
    /// which have no such limit.
    pub async fn create_private(&self, path: &str) {
        self.create_with(path, &[], Acls::creator_all()).await;
    }

    /// Creates a node that lasts as long as this session, and whose name the server ends with a sequence.
    pub async fn create_ephemeral_sequential(&self, path: &str) {
        let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
        let created = self.client.create(path, &[], &options).await;
        created.unwrap_or_else(|error| panic!("cannot create {path}: {error}"));
    }

    async fn create_with(&self, path: &str, data: &[u8], acls: Acls<'static>) {
        if let Some((parent, _)) = path.rsplit_once('/').filter(|(parent, _)| !parent.is_empty()) {
            let open = CreateMode::Persistent.with_acls(Acls::anyone_all());
            let made = retry(|| Box::pin(self.client.mkdir(parent, &open))).await;
            made.unwrap_or_else(|error| panic!("cannot create {parent}: {error}"));
        }
        let options = CreateMode::Persistent.with_acls(acls);
        match retry(|| Box::pin(self.client.create(path, data, &options))).await {
            Ok(_) => {}
            // There before, or since a try whose answer was lost.
            Err(Error::NodeExists) => assert!(self.set_data(path, data).await, "{path} has gone"),
            Err(error) => panic!("cannot create {path}: {error}"),
        }
    }

    /// Returns whether there is such a node.
    pub async fn exists(&self, path: &str) -> bool {
        self.stat(path).await.is_some()
    }

    /// Returns what the server knows of a node; `None` if there is none.
    pub async fn stat(&self, path: &str) -> Option<Stat> {
        self.sync().await;
        let stat = retry(|| Box::pin(self.client.check_stat(path))).await;
        stat.unwrap_or_else(|error| panic!("cannot look at {path}: {error}"))
    }

    /// Returns the data of a node; `None` if there is none.
    pub async fn data(&self, path: &str) -> Option<Vec<u8>> {
        self.sync().await;
        match retry(|| Box::pin(self.client.get_data(path))).await {
            Ok((data, _)) => Some(data),
            Err(Error::NoNode) => None,
            Err(error) => panic!("cannot read {path}: {error}"),
        }
    }

    /// Replaces the data of a node, and returns whether there was one.
    pub async fn set_data(&self, path: &str, data: impl AsRef<[u8]>) -> bool {
        let data = data.as_ref();
        match retry(|| Box::pin(self.client.set_data(path, data, None))).await {
            Ok(_) => true,
            Err(Error::NoNode) => false,
            Err(error) => panic!("cannot write {path}: {error}"),
        }
    }

    /// Returns the names of the children of a node, sorted; none if there is no such node.
    pub async fn children(&self, path: &str) -> Vec<String> {
        self.sync().await;
        match retry(|| Box::pin(self.client.list_children(path))).await {
            Ok(mut children) => {
                children.sort();
                children
            }
            Err(Error::NoNode) => Vec::new(),
            Err(error) => panic!("cannot list {path}: {error}"),
        }
    }

    /// Returns the number of nodes below a node; 0 if there is no such node.
    pub async fn count(&self, path: &str) -> usize {
        self.sync().await;
        match retry(|| Box::pin(self.client.count_descendants_number(path))).await {
            Ok(count) => count,
            Err(Error::NoNode) => 0,
            Err(error) => panic!("cannot count below {path}: {error}"),
        }
    }

    /// Returns the paths of all ephemeral nodes below a node, sorted.
    pub async fn ephemerals(&self, path: &str) -> Vec<String> {
        let (mut found, mut left) = (Vec::new(), vec![path.to_owned()]);
        while let Some(path) = left.pop() {
            for child in self.children(&path).await {
                let child = format!("{}/{child}", path.trim_end_matches('/'));
                match self.stat(&child).await {
                    Some(stat) if stat.ephemeral_owner != 0 => found.push(child),
                    _ => left.push(child),
                }
            }
        }
        found.sort();
        found
    }

    /// Deletes a node without children, and returns whether there was one. After a lost connection it may
    /// find none, because it has deleted it.
    pub async fn delete(&self, path: &str) -> bool {
        match retry(|| Box::pin(self.client.delete(path, None))).await {
            Ok(()) => true,
            Err(Error::NoNode) => false,
            Err(error) => panic!("cannot delete {path}: {error}"),
        }
    }

    /// Makes the server of this session catch up with the leader.
    async fn sync(&self) {
        let synced = retry(|| Box::pin(self.client.sync("/"))).await;
        synced.unwrap_or_else(|error| panic!("cannot sync: {error}"));
    }
}

/// Repeats a command while there is no connection.
async fn retry<'a, T>(
    mut command: impl FnMut() -> BoxFuture<'a, Result<T, Error>>,
) -> Result<T, Error> {
    let end = Instant::now() + LIMIT;
    loop {
        match command().await {
            // A connection that is reset fails its commands with the error of the socket.
            Err(Error::ConnectionLoss | Error::Custom(_)) if Instant::now() < end => {
                sleep(RETRY).await;
            }
            other => return other,
        }
    }
}
