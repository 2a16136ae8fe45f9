//! The commands of a client's store one by one, in plain types: for tests that compare stores with
//! a model.

use std::{sync::Arc, time::Duration};

use lock_store::{
    AcquireCommand, Acquired, ConvertCommand, Downgraded, Holder, Holds, Kind, LockKey, Mode,
    OwnerId, ReleaseCommand, Released, RenewCommand, Renewal, StoreAdmin, StoreError, Unavailable,
    Upgraded, WakeTopic, WakeupReceiver,
};

use crate::{client::LockClient, hold::ClientInner};

/// One owner on one key, with a subscription to its wake-ups.
#[derive(Debug)]
pub struct StepOwner {
    kind: Kind,
    key: LockKey,
    owner: OwnerId,
    ears: WakeupReceiver,
}

impl StepOwner {
    /// As the store writes it.
    #[must_use]
    pub fn name(&self) -> String {
        self.owner.to_string()
    }

    /// How many wake-ups it has received.
    #[must_use]
    pub fn reported(&self) -> u64 {
        self.ears.state().count
    }

    /// Waits until every later wake-up is received.
    pub async fn listens(&mut self) {
        self.ears.subscribed().await;
    }

    fn holder(&self) -> Holder {
        Holder::new(self.kind, self.key.clone(), self.owner.clone())
    }
}

/// The request for an outermost hold, or for one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// The mode.
    pub mode: Mode,
    /// The number of the hold; 1 is the outermost.
    pub holds: u32,
    /// Its lease.
    pub lease: Duration,
    /// Whether it yields to another waiter that is next.
    pub yields: bool,
    /// The life of its place in line, if it takes one.
    pub place: Option<Duration>,
    /// How long it has waited.
    pub waited: Duration,
    /// How many permits a semaphore has.
    pub permits: u32,
    /// How many of them it acquires.
    pub wanted_permits: u32,
}

/// One command of one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the steps of the store")]
pub enum Step {
    Acquire(Ask),
    Release {
        mode: Mode,
        holds: u32,
        in_line: bool,
    },
    Renew {
        mode: Mode,
        lease: Duration,
    },
    Upgrade {
        reads: u32,
        writes: u32,
        lease: Duration,
    },
    Downgrade {
        reads: u32,
        writes: u32,
        lease: Duration,
    },
    FreePermits {
        permits: u32,
    },
    /// On Redisson's wire alone.
    SetPermits {
        permits: u32,
    },
    TakeAway,
}

/// The store's answer to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the answers of the store")]
pub enum Answer {
    Granted { token: Option<u64> },
    Busy { remaining: Option<Duration>, in_line: bool },
    Yield { remaining: Duration, in_line: bool },
    Lost,
    WrongKind,
    NotSole,
    Freed,
    StillHeld,
    Gone,
    Done,
    Failed,
    Free(i64),
    TakenAway { was_held: bool, token: Option<u64> },
}

/// The state of a key in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "as the store shows it")]
pub struct ProbedLock {
    pub kind: Option<Kind>,
    pub mode: Option<Mode>,
    pub holders: Vec<ProbedHolder>,
    pub waiters: Vec<(String, Mode)>,
    pub free_permits: Option<i64>,
}

/// The holders.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "as the store shows it")]
pub struct ProbedHolder {
    pub owner: String,
    pub reads: u32,
    pub writes: u32,
    pub remaining: Option<Duration>,
}

/// The store did not answer.
pub type Unanswered = Unavailable;

/// The commands of a client's store.
#[derive(Debug, Clone)]
pub struct StoreProbe(Arc<ClientInner>);

impl StoreProbe {
    /// Creates a probe of this client's store.
    #[must_use]
    pub fn of(client: &LockClient) -> Self {
        client.inner().tasks.attach_runtime().expect("the runtime lives");
        Self(Arc::clone(client.inner()))
    }

    /// Creates a new owner.
    #[must_use]
    pub fn owner(&self, kind: Kind, key: &LockKey) -> StepOwner {
        let owner = match kind {
            Kind::Semaphore => OwnerId::permit(),
            _ => self.0.owners.next(),
        };
        let (key, store) = (key.clone(), &self.0.store);
        let holder = Holder::new(kind, key.clone(), owner.clone());
        let ears = store.wakeups(WakeTopic::Turn(holder));
        StepOwner { kind, key, owner, ears }
    }

    fn admin(&self) -> Result<&dyn StoreAdmin, StoreError> {
        self.0.admin()
    }

    /// Executes one command.
    ///
    /// # Errors
    ///
    /// The store did not answer: the command may have been executed.
    pub async fn take(&self, who: &StepOwner, command: Step) -> Result<Answer, Unanswered> {
        let (store, holder) = (&self.0.store, who.holder());
        let convert = |reads, writes, lease| {
            ConvertCommand::new(who.holder(), Holds { read: reads, write: writes }, lease)
        };
        Ok(match command {
            Step::Acquire(ask) => acquired(store.acquire(ask.by(holder)).await?),
            Step::Release { mode, holds, in_line } => {
                let mut command = ReleaseCommand::new(holder, mode, holds);
                command.in_line = in_line;
                match store.release(command).await? {
                    Released::Freed | Released::Reserved => Answer::Freed,
                    Released::StillHeld => Answer::StillHeld,
                    Released::Gone => Answer::Gone,
                }
            }
            Step::Renew { mode, lease } => {
                let renewed = store.renew(mode, vec![RenewCommand::new(holder, lease)]).await?;
                match renewed.first() {
                    Some(Renewal::Renewed) => Answer::Done,
                    Some(Renewal::Lost) => Answer::Lost,
                    Some(Renewal::Failed { .. }) | None => Answer::Failed,
                }
            }
            Step::Upgrade { reads, writes, lease } => {
                match store.upgrade(convert(reads, writes, lease)).await? {
                    Upgraded::Granted(token) => Answer::Granted { token: Some(token.get()) },
                    Upgraded::NotSole => Answer::NotSole,
                    Upgraded::Lost => Answer::Lost,
                }
            }
            Step::Downgrade { reads, writes, lease } => {
                match store.downgrade(convert(reads, writes, lease)).await? {
                    Downgraded::Done => Answer::Done,
                    Downgraded::Lost => Answer::Lost,
                }
            }
            Step::FreePermits { permits } => {
                let free = store.free_permits(who.key.clone(), permits).await?;
                free.map_or(Answer::WrongKind, Answer::Free)
            }
            Step::SetPermits { permits } => {
                let free = store.set_permits(who.key.clone(), permits).await?;
                free.map_or(Answer::WrongKind, Answer::Free)
            }
            Step::TakeAway => match self.admin()?.force_release(who.key.clone(), None).await? {
                Some(forced) => Answer::TakenAway {
                    was_held: forced.was_held,
                    token: forced.fencing_token.map(crate::FencingToken::get),
                },
                None => Answer::WrongKind,
            },
        })
    }

    /// Returns the state of a key; `None` if it is not a lock.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub async fn look(&self, key: &LockKey) -> Result<Option<ProbedLock>, Unanswered> {
        let snapshot = self.admin()?.inspect(key.clone()).await?;
        Ok(snapshot.map(|snapshot| {
            let holders = snapshot.holders.into_iter().map(|holder| ProbedHolder {
                owner: holder.owner,
                reads: holder.holds.read,
                writes: holder.holds.write,
                remaining: holder.remaining,
            });
            let waiters = snapshot.waiters.into_iter().map(|waiter| (waiter.owner, waiter.mode));
            ProbedLock {
                kind: snapshot.kind,
                mode: snapshot.mode,
                holders: holders.collect(),
                waiters: waiters.collect(),
                free_permits: snapshot.free_permits,
            }
        }))
    }
}

impl Ask {
    /// The request of this owner.
    pub(crate) fn by(self, holder: Holder) -> AcquireCommand {
        let Self { mode, holds, lease, yields, place, waited, permits, wanted_permits } = self;
        let mut command = AcquireCommand::new(holder, mode, lease);
        (command.holds, command.yields, command.place) = (holds, yields, place);
        (command.waited, command.permits) = (waited, permits);
        command.wanted_permits = wanted_permits;
        command
    }
}

fn acquired(answer: Acquired) -> Answer {
    match answer {
        Acquired::Granted(token) => Answer::Granted { token: token.map(crate::FencingToken::get) },
        Acquired::Busy { remaining, in_line } => Answer::Busy { remaining, in_line },
        Acquired::Yield { remaining, in_line } => Answer::Yield { remaining, in_line },
        Acquired::Lost => Answer::Lost,
        Acquired::WrongKind => Answer::WrongKind,
    }
}
