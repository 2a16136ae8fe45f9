//! One session with the ensemble, and its confirmations.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::future::join;
use lock_store::runtime::LeaseInstant;
use tokio::sync::Mutex;
use zookeeper_client::{Acls, Client, CreateMode, Error};

use super::{path::Root, touches::Touches};

/// One session of the client with the ensemble.
pub(crate) struct Session {
    pub(crate) client: Client,
    /// Which of this process' sessions it is.
    pub(crate) number: u64,
    root: Root,
    confirmations: Confirmations,
    pub(crate) touches: Touches,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Session {
    /// `began` is a moment before the ensemble began it.
    pub(crate) fn new(client: Client, number: u64, root: Root, began: LeaseInstant) -> Self {
        let touches = Touches::new(client.session_timeout(), began);
        Self { client, number, root, confirmations: Confirmations::default(), touches }
    }

    /// Whether everything in it is gone.
    pub(crate) fn has_ended(&self) -> bool {
        self.client.state().is_terminated()
    }

    /// Creates the folders of a path, as containers: the server removes those that are empty.
    pub(crate) async fn make_folder(&self, path: &str) -> Result<(), Error> {
        let container = CreateMode::Container.with_acls(Acls::anyone_all());
        retry(|| self.client.mkdir(path, &container)).await
    }

    /// The children of a path, of which there are none if it is not there.
    ///
    /// The `sync` before it goes through the leader, so the answer is no older than the call. It
    /// also proves that the session had not ended when the leader answered. A read alone proves
    /// neither: a server that is cut off from the others answers it too.
    pub(crate) async fn children_now(&self, path: &str) -> Result<Vec<String>, Error> {
        let ask = || async {
            let (synced, children) =
                join(self.client.sync(path), self.client.get_children(path)).await;
            synced?;
            Ok(children?.0)
        };
        match retry(ask).await {
            Err(Error::NoNode) => Ok(Vec::new()),
            answer => answer,
        }
    }

    /// Confirms that the session is alive, and returns the paths of everything that it holds. Callers
    /// that wait at the same time share one confirmation, which is sent after all of them came.
    pub(crate) async fn confirm(&self) -> Result<Arc<HashSet<String>>, Error> {
        // Counted before the lock is taken: the caller that holds the lock may have sent its
        // confirmation before this call, which must not rely on it then.
        let number = self.confirmations.calls.fetch_add(1, Ordering::AcqRel) + 1;
        let mut last = self.confirmations.last.lock().await;
        if last.covers < number {
            // All calls that are counted by now came before anything is sent below: this
            // confirmation is theirs too.
            let covers = self.confirmations.calls.load(Ordering::Acquire);
            let folder = self.root.folder();
            let ask = || async {
                let (synced, held) =
                    join(self.client.sync(folder), self.client.list_ephemerals(folder)).await;
                synced?;
                held
            };
            let mut is_known = self.touches.are_known();
            let mut held = retry(ask).await;
            // The leader learns of this command only with the follower's next report. If the
            // session was silent before, the leader could still end it, and the lock be granted to
            // another client.
            while held.is_ok() && !is_known {
                tokio::time::sleep(self.touches.period()).await;
                is_known = self.touches.are_known();
                if is_known {
                    held = retry(ask).await;
                }
            }
            // Stored only once it is complete: if this caller is dropped before, the next one sends
            // its own.
            *last = Confirmation {
                covers,
                held: held.map(|held| Arc::new(held.into_iter().collect())),
            };
        }
        last.held.clone()
    }
}

/// Confirmations of the session, one at a time.
#[derive(Default)]
struct Confirmations {
    calls: AtomicU64,
    last: Mutex<Confirmation>,
}

/// The last one, and up to which call it was sent after the call.
struct Confirmation {
    covers: u64,
    held: Result<Arc<HashSet<String>>, Error>,
}

impl Default for Confirmation {
    fn default() -> Self {
        Self { covers: 0, held: Err(Error::ConnectionLoss) }
    }
}

/// Repeats a command that may be repeated for as long as connections end: the library sends it over
/// the next one. The caller limits the time.
pub(crate) async fn retry<T, F: Future<Output = Result<T, Error>>>(
    ask: impl Fn() -> F,
) -> Result<T, Error> {
    loop {
        match ask().await {
            Err(why) if is_lost(&why) => tokio::task::yield_now().await,
            answer => return answer,
        }
    }
}

/// Whether the connection ended before the answer, so that it is not known whether the command was
/// executed. A reset is reported by the library as the system's own error.
pub(crate) fn is_lost(why: &Error) -> bool {
    matches!(why, Error::ConnectionLoss | Error::Custom(_))
}
