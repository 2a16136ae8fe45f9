//! The commands of the store.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, ready},
};
use lock_store::{
    AcquireCommand, Acquired, ConvertCommand, Downgraded, Holder, LockKey, LockStore, Mode,
    ReleaseCommand, Released, RenewCommand, Renewal, StoreAdmin, StoreError, StoreFuture,
    StoreHealth, Unavailable, Unsupported, Upgraded, WakeTopic, WakeupReceiver, WakeupSender,
    WorkRecord, runtime::answered_within,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zookeeper_client::Error;

use super::{
    belief::reliable,
    contenders::{ContenderState, Contenders},
    path::Root,
    requests::ReleaseRequests,
    session::is_lost,
    sessions::Sessions,
};

/// How long a shutdown waits until the ensemble has confirmed that the session has ended.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(500);

/// The store on ZooKeeper, from [`connect`](crate::connect).
pub struct ZooKeeperStore {
    pub(super) sessions: Arc<Sessions>,
    pub(super) contenders: Arc<Contenders>,
    pub(super) root: Root,
    pub(super) requests: ReleaseRequests,
    /// Wakes this client when one of its znodes may have been taken away.
    pub(super) taken: Arc<WakeupSender>,
    /// The client's name, which every znode of it contains.
    pub(super) name: String,
    pub(super) command_timeout: Duration,
    pub(super) session_timeout: Duration,
    pub(super) address: String,
    pub(super) warnings: tokio::sync::OnceCell<Vec<String>>,
    pub(super) closed: CancellationToken,
}

/// Shows the address only, without credentials.
impl fmt::Debug for ZooKeeperStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZooKeeper at {}", self.address)
    }
}

pub(super) fn unavailable(why: Error) -> StoreError {
    match why {
        why if is_lost(&why) => Unavailable::no_answer(format!("ZooKeeper: {why}")),
        Error::Timeout | Error::NoHosts => Unavailable::no_answer(format!("ZooKeeper: {why}")),
        Error::SessionExpired | Error::ClientClosed => {
            Unavailable::no_answer("the session with ZooKeeper has ended")
        }
        why => Unavailable::because(format!("ZooKeeper refused a command: {why}"), why),
    }
    .into()
}

impl ZooKeeperStore {
    /// Limits the time of a command.
    pub(super) async fn within<T>(
        &self,
        command: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match answered_within(self.command_timeout, command).await {
            Some(answer) => answer,
            None => {
                let limit = self.command_timeout;
                let why = self.sessions.check(Duration::ZERO).err();
                let none =
                    || Unavailable::no_answer(format!("no answer from {self:?} within {limit:?}"));
                Err(why.unwrap_or_else(none).into())
            }
        }
    }

    pub(super) fn data_of(&self, holder: &Holder) -> String {
        format!("{} {} {}", self.name, holder.kind, holder.owner)
    }

    /// Writes the owner's work into its znode, behind the name.
    async fn record(&self, record: &WorkRecord) -> Result<(), StoreError> {
        let session = self.sessions.current().await?;
        let contender = self.contenders.get(&record.holder);
        let Some(contender) = contender.filter(|one| one.session == session.number) else {
            return Ok(());
        };
        let mut state = contender.state.lock().await;
        let mut data = self.data_of(&record.holder);
        if let Some(text) = &record.text {
            data.extend([" ", text]);
        }
        let waits = state.holds.none();
        let ContenderState { znode, queue, .. } = &mut *state;
        // A waiter for a permit has its znode in another folder than its permit.
        let znode = queue.as_mut().filter(|_| waits).unwrap_or(znode);
        znode.write(&session, &data).await.map_err(unavailable)?;
        let Some(path) = znode.path().filter(|_| !waits) else { return Ok(()) };
        // A holder that is worth a record is worth a watch.
        let watched = session.client.check_and_watch_stat(&path).await;
        let (found, watcher) = watched.map_err(unavailable)?;
        if found.is_none() {
            // Taken away between the two commands.
            self.taken.wake();
            return Ok(());
        }
        let taken = Arc::clone(&self.taken);
        state.look_out_for_taking(tokio::spawn(async move {
            watcher.changed().await;
            taken.wake();
        }));
        Ok(())
    }

    async fn renew_all(&self, commands: Vec<RenewCommand>) -> Result<Vec<Renewal>, StoreError> {
        let session = self.sessions.current().await?;
        // Read after the commands came: an older list could contain a znode that an operator has
        // deleted since, and its holder would work on.
        let held = session.confirm().await.map_err(unavailable)?;
        let mut renewed = Vec::with_capacity(commands.len());
        for command in commands {
            let contender = self.contenders.get(&command.holder);
            let is_held = match contender.filter(|one| one.session == session.number) {
                Some(contender) => contender.state.lock().await.is_held(&held),
                None => false,
            };
            renewed.push(if is_held { Renewal::Renewed } else { Renewal::Lost });
        }
        Ok(renewed)
    }

    /// Whether the session is shorter than the ensemble's clock is fine. Found out once: a session of
    /// the least timeout is begun and ended.
    async fn find_warnings(&self) -> Vec<String> {
        let least = self.sessions.least_timeout().await;
        let too_short = least.filter(|least| self.session_timeout < *least * 2);
        let warn = |least: Duration| {
            format!(
                "the session's timeout of {:?} is less than twice the least that the ensemble \
                 allows ({least:?}): a server that fails may end it early; set a longer lease",
                self.session_timeout
            )
        };
        too_short.map(warn).into_iter().collect()
    }
}

impl LockStore for ZooKeeperStore {
    fn acquire(&self, command: AcquireCommand) -> StoreFuture<'_, Acquired> {
        if command.wanted_permits > 1 {
            let what = "several permits at once: acquire them one by one";
            return ready(Err(Unsupported::new(what).into())).boxed();
        }
        async move { self.within(self.try_acquire(&command)).await }.boxed()
    }

    fn release(&self, command: ReleaseCommand) -> StoreFuture<'_, Released> {
        async move { self.within(self.release_one(&command)).await }.boxed()
    }

    fn renew(&self, _mode: Mode, commands: Vec<RenewCommand>) -> StoreFuture<'_, Vec<Renewal>> {
        self.within(self.renew_all(commands)).boxed()
    }

    fn reserves_tokens(&self) -> bool {
        true
    }

    fn supports_mode_changes(&self) -> bool {
        true
    }

    fn free_permits(&self, key: LockKey, permits: u32) -> StoreFuture<'_, Option<i64>> {
        async move { self.within(self.count_free_permits(&key, permits)).await }.boxed()
    }

    fn upgrade(&self, _: ConvertCommand) -> StoreFuture<'_, Upgraded> {
        let what = "upgrades: Curator's read/write lock has none; release the read, and acquire \
                    the write";
        std::future::ready(Err(Unsupported::new(what).into())).boxed()
    }

    fn downgrade(&self, command: ConvertCommand) -> StoreFuture<'_, Downgraded> {
        async move { self.within(self.convert_down(&command)).await }.boxed()
    }

    /// In the znodes of the owners, with which they end.
    fn record_work(&self, records: Vec<WorkRecord>) -> StoreFuture<'_, ()> {
        async move {
            for record in &records {
                self.within(self.record(record)).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn wakeups(&self, topic: WakeTopic) -> WakeupReceiver {
        match topic {
            WakeTopic::Turn(holder) => self.contenders.turns_of(&holder),
            WakeTopic::ReleaseRequest(key) => self.requests.listen(key),
            WakeTopic::Taken(_) => self.taken.subscribe(),
        }
    }

    fn session_lease(&self) -> Option<Duration> {
        Some(reliable(self.session_timeout))
    }

    fn command_timeout(&self) -> Option<Duration> {
        Some(self.command_timeout)
    }

    fn connection_status(&self) -> Result<(), Unavailable> {
        self.sessions.check(self.command_timeout)
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        async move {
            let sent = Instant::now();
            let confirming = async {
                let session = self.sessions.current().await?;
                session.confirm().await.map_err(unavailable)?;
                Ok(session)
            };
            let confirmed = self.within(confirming).await;
            let round_trip = match &confirmed {
                Ok(_) => Ok(sent.elapsed()),
                Err(StoreError::Unavailable(why)) => Err(why.clone()),
                Err(why) => Err(Unavailable::unsent(why.to_string())),
            };
            let warnings = match &confirmed {
                Ok(_) => self.warnings.get_or_init(|| self.find_warnings()).await.clone(),
                Err(_) => Vec::new(),
            };
            let details = confirmed.iter().map(|session| {
                let id = session.client.session_id();
                format!("session {id} of {:?} with {}", self.session_timeout, self.address)
            });
            let mut health = StoreHealth::new("zookeeper", round_trip);
            (health.warnings, health.details) = (warnings, details.collect());
            health
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async move {
            self.closed.cancel();
            let _ = tokio::time::timeout(SHUTDOWN_GRACE, self.sessions.close()).await;
        }
        .boxed()
    }

    fn admin(&self) -> Option<&dyn StoreAdmin> {
        Some(self)
    }
}

impl Drop for ZooKeeperStore {
    fn drop(&mut self) {
        self.closed.cancel();
        self.sessions.forget();
    }
}
