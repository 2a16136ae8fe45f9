//! What a store of locks must be able to do: one step at a time, each safe to ask again.

use std::{fmt, time::Duration};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::{FencingToken, LockKey, Mode, error::Unavailable, owner::OwnerId};

/// A step's answer, or the news that nobody knows whether it was done.
pub(crate) type Answer<'a, T> = BoxFuture<'a, Result<T, Unavailable>>;

/// How many holds one owner has on one key, by mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Holds {
    pub(crate) read: u32,
    pub(crate) write: u32,
}

impl Holds {
    pub(crate) fn of(self, mode: Mode) -> u32 {
        match mode {
            Mode::Read => self.read,
            Mode::Write => self.write,
        }
    }

    pub(crate) fn of_mut(&mut self, mode: Mode) -> &mut u32 {
        match mode {
            Mode::Read => &mut self.read,
            Mode::Write => &mut self.write,
        }
    }

    pub(crate) fn none(self) -> bool {
        self == Self::default()
    }
}

/// Asks for an owner's hold number `holds`.
#[derive(Debug)]
pub(crate) struct AcquireStep<'a> {
    pub(crate) key: &'a LockKey,
    pub(crate) owner: &'a OwnerId,
    pub(crate) mode: Mode,
    pub(crate) holds: u32,
    pub(crate) lease: Duration,
    /// Stands back behind another waiter that is next: a reader behind a writer, a writer behind
    /// anybody.
    pub(crate) yields: bool,
    /// How long the mark lives by which a refused waiter is next.
    pub(crate) mark: Option<Duration>,
    /// For how long this waiter has waited: who has waited longest is next.
    pub(crate) waited: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// With a token when this is the outermost hold.
    Granted(Option<FencingToken>),
    /// `remaining` is what the longest holder has left; `marked` says that our mark stands.
    Busy {
        remaining: Option<Duration>,
        marked: bool,
    },
    /// Another waiter is next; its mark has this long to live.
    Yield {
        remaining: Duration,
    },
    Lost,
    WrongKind,
}

/// One owner on one key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holder<'a> {
    pub(crate) key: &'a LockKey,
    pub(crate) owner: &'a OwnerId,
}

/// Brings an owner's holds of one mode down to `holds`.
#[derive(Debug)]
pub(crate) struct ReleaseStep<'a> {
    pub(crate) holder: Holder<'a>,
    pub(crate) mode: Mode,
    pub(crate) holds: u32,
    pub(crate) marked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Released {
    /// Nobody holds the lock now.
    Freed,
    /// The owner or other readers still do.
    StillHeld,
    /// The hold had ended before.
    Gone,
}

#[derive(Debug)]
pub(crate) struct RenewStep<'a> {
    pub(crate) holder: Holder<'a>,
    pub(crate) lease: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    Renewed,
    Lost,
    Failed,
}

/// Changes one hold's mode; `after` is what the owner has then.
#[derive(Debug)]
pub(crate) struct ConvertStep<'a> {
    pub(crate) holder: Holder<'a>,
    pub(crate) after: Holds,
    pub(crate) lease: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upgraded {
    Granted(FencingToken),
    NotSole,
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Downgraded {
    Done,
    Lost,
}

/// What stands in the store for a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) mode: Option<Mode>,
    /// Owners that read and whose time is not over.
    pub(crate) readers: u32,
    /// The holds of the owner that was asked for.
    pub(crate) own: Holds,
}

/// The news of one key's releases. A hint: a waiter must also look by itself now and then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct News {
    pub(crate) subscribed: bool,
    /// Grows with every message and every new subscription.
    pub(crate) count: u64,
}

/// One waiter's ear on a key; dropping it is leaving.
#[derive(Debug)]
pub(crate) struct Wakeups(pub(crate) watch::Receiver<News>);

impl Wakeups {
    /// Waits until releases from now on are heard.
    pub(crate) async fn subscribed(&mut self) {
        // The sender outlives every receiver; were it gone, the slow poll would still be there.
        let _ = self.0.wait_for(|news| news.subscribed).await;
    }

    /// From here on [`woken`](Self::woken) reports what is new.
    pub(crate) fn listen(&mut self) {
        self.0.mark_unchanged();
    }

    pub(crate) async fn woken(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// How the store is, for [`LockClient::health`](crate::LockClient::health).
#[derive(Debug)]
pub(crate) struct StoreHealth {
    pub(crate) kind: &'static str,
    pub(crate) round_trip: Result<Duration, Unavailable>,
    pub(crate) warnings: Vec<String>,
}

/// A store of read/write locks.
///
/// Every step may be asked again after an unknown outcome. Steps of one hold are never asked at the
/// same time.
pub(crate) trait Backend: fmt::Debug + Send + Sync + 'static {
    fn acquire<'a>(&'a self, step: &'a AcquireStep<'a>) -> Answer<'a, Acquired>;
    fn release<'a>(&'a self, step: &'a ReleaseStep<'a>) -> Answer<'a, Released>;
    /// One answer per step, in order; all steps are of the same mode.
    fn renew<'a>(&'a self, mode: Mode, steps: &'a [RenewStep<'a>]) -> Answer<'a, Vec<Renewal>>;
    fn upgrade<'a>(&'a self, step: &'a ConvertStep<'a>) -> Answer<'a, Upgraded>;
    fn downgrade<'a>(&'a self, step: &'a ConvertStep<'a>) -> Answer<'a, Downgraded>;
    /// `None` when something else stands under the key.
    fn inspect<'a>(
        &'a self,
        key: &'a LockKey,
        owner: Option<&'a OwnerId>,
    ) -> Answer<'a, Option<Standing>>;
    fn wakeups(&self, key: &LockKey) -> Wakeups;
    /// Whether the store can be asked at all, as far as is known without asking.
    fn link(&self) -> Result<(), Unavailable>;
    fn health(&self) -> BoxFuture<'_, StoreHealth>;
    /// Gives up what the client keeps in the store beside its locks, and the connections.
    fn close(&self) -> BoxFuture<'_, ()>;
}
