//! What a store of locks must be able to do: one step at a time, each safe to ask again.

use std::{fmt, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{sync::watch, time::Instant};

use crate::{
    ClientInfo, FencingToken, Kind, Listing, LockKey, Mode, error::Unavailable, owner::OwnerId,
};

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
pub(crate) struct AcquireStep {
    pub(crate) kind: Kind,
    pub(crate) key: LockKey,
    pub(crate) owner: OwnerId,
    pub(crate) mode: Mode,
    pub(crate) holds: u32,
    pub(crate) lease: Duration,
    /// Stands back behind another waiter that is next: a reader behind a writer, a writer behind
    /// anybody.
    pub(crate) yields: bool,
    /// How long the place in line lives that a refused waiter takes or keeps: in a fair kind's line
    /// its place in order of arrival, otherwise the mark of the one that is next. `None`: it does
    /// not stand in line.
    pub(crate) place: Option<Duration>,
    /// For how long this waiter has waited: where there is no line, who has waited longest is next.
    pub(crate) waited: Duration,
    /// How many fencing tokens to keep in reserve after the one that is granted with a write.
    pub(crate) turns: u32,
    /// The permits that a semaphore is made with if there is none.
    pub(crate) permits: u32,
}

impl AcquireStep {
    /// The owner that asks, on its key.
    pub(crate) fn holder(&self) -> Holder {
        Holder { kind: self.kind, key: self.key.clone(), owner: self.owner.clone() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// With a token when this is the outermost hold of a kind that has tokens.
    Granted(Option<FencingToken>),
    /// `remaining` is what the longest holder has left, or how long it is before whoever is ahead
    /// in line may be passed; `in_line` says that our place in line stands.
    Busy {
        remaining: Option<Duration>,
        in_line: bool,
    },
    /// Another waiter is next; its mark has this long to live.
    Yield {
        remaining: Duration,
    },
    Lost,
    WrongKind,
}

/// One owner on one key.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    pub(crate) kind: Kind,
    pub(crate) key: LockKey,
    pub(crate) owner: OwnerId,
}

/// Brings an owner's holds of one mode down to `holds`.
#[derive(Debug)]
pub(crate) struct ReleaseStep {
    pub(crate) holder: Holder,
    pub(crate) mode: Mode,
    pub(crate) holds: u32,
    /// The owner may stand in line, and leaves it.
    pub(crate) in_line: bool,
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
pub(crate) struct RenewStep {
    pub(crate) holder: Holder,
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
pub(crate) struct ConvertStep {
    pub(crate) holder: Holder,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// `None`: nobody holds it and nobody waits.
    pub(crate) kind: Option<Kind>,
    pub(crate) mode: Option<Mode>,
    /// Whose time is not over.
    pub(crate) holders: Vec<StandingHolder>,
    /// What is left of the lease that ends last; `None` without holders, and for one without end.
    pub(crate) remaining: Option<Duration>,
    /// In order, where there is one.
    pub(crate) waiters: Vec<StandingWaiter>,
    /// A semaphore's free permits.
    pub(crate) free_permits: Option<i64>,
    /// The last fencing token that was given out, as far as it is still known.
    pub(crate) token: Option<FencingToken>,
    /// Whether all holders and waiters are listed.
    pub(crate) complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StandingHolder {
    pub(crate) owner: String,
    pub(crate) holds: Holds,
    /// `None`: without end.
    pub(crate) remaining: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StandingWaiter {
    pub(crate) owner: String,
    pub(crate) mode: Mode,
}

/// What came of several locks that were asked for at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AcquiredAll {
    /// With each one's token, in order.
    Granted(Vec<Option<FencingToken>>),
    /// The lock at this place was refused, and nothing is held.
    Refused { at: usize, answer: Acquired },
}

/// What came of taking a lock away from whoever holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forced {
    /// Whether anybody held it.
    pub(crate) was_held: bool,
    /// Exceeds every token handed out before; a semaphore has none.
    pub(crate) token: Option<FencingToken>,
}

/// Which server it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Another one after every start.
    pub(crate) id: String,
    /// At least so long ago it has started.
    pub(crate) up: Duration,
}

/// What somebody wants to hear of.
#[derive(Debug, Clone)]
pub(crate) enum Topic {
    /// The key's lock may be free for this waiter.
    Turn(Holder),
    /// The key's holders are asked to release it.
    ReleaseRequest(LockKey),
}

/// The news of one topic. A hint: a waiter must also look by itself now and then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct News {
    pub(crate) subscribed: bool,
    /// Grows with every message and every new subscription.
    pub(crate) count: u64,
    /// When it last grew, where that is known.
    pub(crate) grown_at: Option<Instant>,
}

/// One listener's ear on a topic; dropping it is leaving.
#[derive(Debug)]
pub(crate) struct Wakeups(pub(crate) watch::Receiver<News>);

impl Wakeups {
    /// Whether nothing can have been missed since then: what was told is heard since before.
    pub(crate) fn silent_since(&self, then: Instant) -> bool {
        let news = self.0.borrow();
        news.subscribed && news.grown_at.is_some_and(|grown| grown < then)
    }

    /// Waits until what is told from now on is heard.
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

/// A store of locks.
///
/// Every step may be asked again after an unknown outcome, and owns what it names: it may outlive its
/// caller. Steps of one hold are never asked at the
/// same time.
pub(crate) trait Backend: fmt::Debug + Send + Sync + 'static {
    fn acquire(&self, step: AcquireStep) -> Answer<'_, Acquired>;
    /// Whether [`acquire_all`](Self::acquire_all) can be asked for these keys.
    fn in_one_step(&self, keys: &[&LockKey]) -> bool;
    /// All of them or none, in one step.
    fn acquire_all(&self, steps: Vec<AcquireStep>) -> Answer<'_, AcquiredAll>;
    fn release(&self, step: ReleaseStep) -> Answer<'_, Released>;
    /// Holds of one shard are renewed together; shards fail one by one.
    fn shard(&self, key: &LockKey) -> u16;
    /// One answer per step, in order; all steps are of the same kind, mode and shard.
    fn renew(&self, mode: Mode, steps: Vec<RenewStep>) -> Answer<'_, Vec<Renewal>>;
    fn upgrade(&self, step: ConvertStep) -> Answer<'_, Upgraded>;
    fn downgrade(&self, step: ConvertStep) -> Answer<'_, Downgraded>;
    /// `None` when something that is no lock stands under the key.
    fn inspect(&self, key: LockKey) -> Answer<'_, Option<Standing>>;
    /// The locks whose keys begin so, sorted: at most so many.
    fn list(&self, prefix: String, limit: usize) -> Answer<'_, Listing>;
    /// Who clients are, by the first part of their owners: `None` for those not known.
    fn client_names(&self, clients: Vec<String>) -> Answer<'_, Vec<Option<ClientInfo>>>;
    /// `None` when something that is no lock stands under the key.
    fn force_release(&self, key: LockKey) -> Answer<'_, Option<Forced>>;
    /// Asks every holder to release; says how many there are. `None` when something else stands
    /// under the key.
    fn request_release(&self, key: LockKey) -> Answer<'_, Option<u32>>;
    /// Whether this holder was asked to release.
    fn release_requested(&self, holder: Holder) -> Answer<'_, bool>;
    /// Sets a semaphore's permits, held ones counted; says how many are free then. `None` when
    /// something else stands under the key.
    fn set_permits(
        &self,
        key: LockKey,
        permits: u32,
        only_missing: bool,
    ) -> Answer<'_, Option<i64>>;
    fn wakeups(&self, topic: Topic) -> Wakeups;
    /// Whether the store can be asked at all, as far as is known without asking.
    fn link(&self) -> Result<(), Unavailable>;
    fn identity(&self) -> Answer<'_, Identity>;
    fn health(&self) -> BoxFuture<'_, StoreHealth>;
    /// Gives up what the client keeps in the store beside its locks, and the connections.
    fn close(&self) -> BoxFuture<'_, ()>;
}
