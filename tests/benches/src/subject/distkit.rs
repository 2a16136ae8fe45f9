//! `distkit`, as it comes. One lock object for each acquisition: two tasks that share one both get
//! its write lock.

use std::sync::Arc;

use distkit::{
    DistkitRedisKey,
    lock::{LockOptions, RwLock, RwLockReadGuard, RwLockWriteGuard},
};
use redis::aio::ConnectionManager;

#[derive(Clone)]
pub(crate) struct Distkit {
    connection: ConnectionManager,
    reads: bool,
}

pub(crate) enum Held {
    Read(RwLockReadGuard),
    Write(RwLockWriteGuard),
}

impl Distkit {
    pub(super) async fn connect(url: &str, reads: bool) -> Self {
        let client = redis::Client::open(url).expect("a URL");
        let connection = client.get_connection_manager().await.expect("a server at the URL");
        Self { connection, reads }
    }

    pub(super) async fn take(&self, key: &str) -> Held {
        let key = DistkitRedisKey::try_from(key.to_owned()).expect("a key");
        let lock: Arc<RwLock> = RwLock::new(LockOptions::new(key, self.connection.clone()));
        match self.reads {
            true => Held::Read(lock.read().await.expect("a read lock")),
            false => Held::Write(lock.write().await.expect("a write lock")),
        }
    }
}

impl Held {
    pub(super) async fn give_back(self) {
        match self {
            Self::Read(guard) => guard.release().await,
            Self::Write(guard) => guard.release().await,
        }
        .expect("a release");
    }
}
