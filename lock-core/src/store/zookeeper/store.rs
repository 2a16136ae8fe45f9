//! The commands of the store.

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zookeeper_client::{Error, OneshotWatcher};

use super::{
    cleanup::AbandonOnDrop,
    contenders::{Contender, ContenderState, Contenders},
    line::{Standing, divide, is_in_the_way, standing},
    names::Role,
    path::Root,
    requests::ReleaseRequests,
    semaphore::permits_in_use,
    session::{Session, Sessions, is_lost},
    znode::Znode,
};
use crate::{
    store::{
        AcquireCommand, Acquired, ConvertCommand, Downgraded, Holder, LockStore, ReleaseCommand,
        Released, RenewCommand, Renewal, StoreAdmin, StoreFuture, StoreHealth, Upgraded, WakeTopic,
        WakeupReceiver,
    },
    types::{FencingToken, Kind, LockKey, Mode, StoreError, Unavailable, Unsupported},
};

/// How many tokens there are for each znode: its own, those for hand-offs within the process, and
/// one for an operator that takes the lock away.
const TOKENS: u64 = 128;
/// How long a shutdown waits until the ensemble has confirmed that the session has ended.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(500);

pub(crate) struct ZooKeeperStore {
    pub(super) sessions: Arc<Sessions>,
    pub(super) contenders: Arc<Contenders>,
    pub(super) root: Root,
    pub(super) requests: ReleaseRequests,
    /// What every znode of this client contains: its name.
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

/// How much of a session's timeout its client may rely on: three fifths.
///
/// The ensemble counts from the last message of the client that its leader knows of, and knows of it
/// later than it was sent: the client sends something at least every three twentieths of the timeout,
/// and a follower passes on what it heard every half tick, which is a quarter of the timeout where that
/// is as short as a server allows. What a follower has not passed on when it fails is lost.
pub(crate) fn reliable(session_timeout: Duration) -> Duration {
    session_timeout * 3 / 5
}

/// The timeout of which this is the reliable part.
pub(crate) fn session_timeout_for(lease: Duration) -> Duration {
    lease * 5 / 3
}

/// The token of a grant, by the transaction that created the holder's znode: those of one ensemble
/// grow, and are shifted so that there is room for the hand-offs that follow.
pub(super) fn token_of(czxid: i64) -> FencingToken {
    FencingToken::new(u64::try_from(czxid).unwrap_or_default().saturating_mul(TOKENS))
}

/// The last token that holders of this znode may have, for an operator: less than those of every znode
/// that was created later.
pub(super) fn last_token_of(czxid: i64) -> FencingToken {
    FencingToken::new(token_of(czxid).get().saturating_add(TOKENS - 1))
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
        match tokio::time::timeout(self.command_timeout, command).await {
            Ok(answer) => answer,
            Err(_) => {
                let limit = self.command_timeout;
                let why = self.sessions.check(Duration::ZERO).err();
                let none =
                    || Unavailable::no_answer(format!("no answer from {self:?} within {limit:?}"));
                Err(why.unwrap_or_else(none).into())
            }
        }
    }

    fn data_of(&self, holder: &Holder) -> String {
        format!("{} {} {}", self.name, holder.kind, holder.owner)
    }

    async fn try_acquire(&self, command: &AcquireCommand) -> Result<Acquired, StoreError> {
        let path = self.root.path_of(&command.key)?;
        let session = self.sessions.current().await?;
        let holder = command.holder();
        let contender = if command.holds == 1 {
            self.contenders.of_try(&holder, command.mode, &path, session.number)
        } else {
            match self.contenders.get(&holder) {
                Some(contender) if contender.session == session.number => contender,
                _ => return Ok(Acquired::Lost),
            }
        };
        let mut state = contender.state.lock().await;
        if !state.holds.none() {
            return self.enter_again(command, &contender, &mut state, &session).await;
        }
        if command.holds > 1 {
            return Ok(Acquired::Lost);
        }
        // A caller that does not wait looks first: a refusal then costs the ensemble no write.
        if command.place.is_none() && !state.may_be_stored() {
            let look = self.look_first(command, &path, &session).await.map_err(unavailable)?;
            if let Some(refusal) = look {
                self.contenders.remove(&contender);
                return Ok(refusal);
            }
        }
        let data = self.data_of(&holder);
        let stands = match command.kind {
            Kind::Semaphore => {
                self.take_permit(command, &contender, &mut state, &session, &data).await
            }
            _ => self.stand_in_line(&contender, &mut state, &session, &data).await,
        };
        let in_the_way = match stands.map_err(unavailable)? {
            Stands::Holds => {
                state.watch_none();
                *state.holds.of_mut(command.mode) = 1;
                let token = state.znode.czxid().map(token_of);
                return Ok(Acquired::Granted(token.filter(|_| command.kind != Kind::Semaphore)));
            }
            Stands::Behind(answer) => answer,
        };
        let waits = command.place.is_some()
            && in_the_way == Acquired::Busy { remaining: None, in_line: true };
        if waits {
            return Ok(in_the_way);
        }
        // It holds nothing and waits for nothing: nothing of it may stay.
        let leaving = AbandonOnDrop::new(&self.contenders, &contender);
        state.watch_none();
        for znode in state.znodes() {
            znode.delete(&session).await.map_err(unavailable)?;
        }
        leaving.done();
        Ok(match in_the_way {
            Acquired::Busy { remaining, .. } => Acquired::Busy { remaining, in_line: false },
            other => other,
        })
    }

    /// One hold more for an owner that has one, or a command that is repeated.
    async fn enter_again(
        &self,
        command: &AcquireCommand,
        contender: &Contender,
        state: &mut ContenderState,
        session: &Session,
    ) -> Result<Acquired, StoreError> {
        let before = state.holds;
        let have = before.of(command.mode);
        if have + 1 < command.holds {
            return Ok(Acquired::Lost);
        }
        let held = session.confirm().await.map_err(unavailable)?;
        if !is_among(&held, &state.znode) {
            self.contenders.remove(contender);
            return Ok(Acquired::Lost);
        }
        *state.holds.of_mut(command.mode) = have.max(command.holds);
        // Its first hold again: the answer to it was lost.
        let is_first = have == 1 && command.holds == 1 && before.read + before.write == 1;
        let token = state.znode.czxid().map(token_of);
        let token = token.filter(|_| is_first && command.kind != Kind::Semaphore);
        Ok(Acquired::Granted(token))
    }

    /// Why a contender that comes now would not hold the lock.
    async fn look_first(
        &self,
        command: &AcquireCommand,
        path: &str,
        session: &Session,
    ) -> Result<Option<Acquired>, Error> {
        let refused = match command.kind {
            Kind::Semaphore => {
                let permits = usize::try_from(command.permits).unwrap_or(usize::MAX);
                permits_in_use(session, path).await? >= permits
            }
            kind => {
                let children = session.children_now(path).await?;
                is_in_the_way(&children, Role::of(kind, command.mode))
            }
        };
        Ok(refused.then_some(Acquired::Busy { remaining: None, in_line: false }))
    }

    async fn stand_in_line(
        &self,
        contender: &Arc<Contender>,
        state: &mut ContenderState,
        session: &Arc<Session>,
        data: &str,
    ) -> Result<Stands, Error> {
        loop {
            let children = state.znode.create(session, data).await?;
            let own = state.znode.name().unwrap_or_default();
            match standing(&children, own) {
                Standing::Holds => return Ok(Stands::Holds),
                Standing::OtherRecipe => return Ok(Stands::Behind(Acquired::WrongKind)),
                Standing::Gone => state.znode.vanished(),
                Standing::Behind(name) => {
                    let path = format!("{}/{name}", contender.path);
                    if self.watch(contender, state, session, path).await? {
                        return Ok(Stands::Behind(BUSY));
                    }
                }
            }
        }
    }

    /// Watches the znode that a contender waits for; `false` if that is gone already.
    pub(super) async fn watch(
        &self,
        contender: &Arc<Contender>,
        state: &mut ContenderState,
        session: &Session,
        path: String,
    ) -> Result<bool, Error> {
        if state.watches(&path) {
            return Ok(true);
        }
        // Its data, not whether it exists: that would leave a watch on a znode that is gone.
        let watched = super::session::retry(|| session.client.get_and_watch_data(&path)).await;
        let watcher = match watched {
            Ok((_, _, watcher)) => watcher,
            Err(Error::NoNode) => return Ok(false),
            Err(why) => return Err(why),
        };
        self.wake_by(contender, state, path, watcher);
        Ok(true)
    }

    /// Wakes a contender once what it watches has changed.
    pub(super) fn wake_by(
        &self,
        contender: &Arc<Contender>,
        state: &mut ContenderState,
        path: String,
        watcher: OneshotWatcher,
    ) {
        let waiter = Arc::downgrade(contender);
        let task = tokio::spawn(async move {
            watcher.changed().await;
            if let Some(waiter) = waiter.upgrade() {
                waiter.wake();
            }
        });
        state.watch(path, task);
    }

    async fn release_one(&self, command: &ReleaseCommand) -> Result<Released, StoreError> {
        let Some(contender) = self.contenders.get(&command.holder) else {
            return Ok(Released::Gone);
        };
        let session = self.sessions.current().await?;
        if contender.session != session.number {
            // Everything of its session has ended.
            self.contenders.remove(&contender);
            return Ok(Released::Gone);
        }
        let mut state = contender.state.lock().await;
        let have = state.holds.of(command.mode);
        if command.holds > 0 {
            let is_less = have >= command.holds;
            if is_less {
                *state.holds.of_mut(command.mode) = command.holds;
            }
            return Ok(if is_less { Released::StillHeld } else { Released::Gone });
        }
        let mut left = state.holds;
        *left.of_mut(command.mode) = 0;
        if !left.none() && have == 0 {
            return Ok(Released::Gone);
        }
        if !left.none() {
            if command.mode == Mode::Write
                && !self.become_reader(&contender, &mut state, &session).await?
            {
                return Ok(Released::Gone);
            }
            state.holds = left;
            return Ok(Released::StillHeld);
        }
        // From here on it is gone for its owner. If it is not certain that it is gone from the store,
        // the cleanup goes on, also after the caller has given up: the session lives on, and with it
        // whatever is left.
        let leaving = AbandonOnDrop::new(&self.contenders, &contender);
        state.watch_none();
        let mut was_there = false;
        for znode in state.znodes() {
            was_there |= znode.delete(&session).await.map_err(unavailable)?;
        }
        leaving.done();
        let others = have > 0 && command.mode == Mode::Read && {
            let children = session.client.get_children(&contender.path).await;
            children.is_ok_and(|(left, _)| divide(&left).0.iter().any(|one| one.role == Role::Read))
        };
        Ok(match (have > 0 && was_there, others) {
            (false, _) => Released::Gone,
            (true, true) => Released::StillHeld,
            (true, false) => Released::Freed,
        })
    }

    /// The write of an owner becomes a read, ahead of every waiter.
    async fn become_reader(
        &self,
        contender: &Contender,
        state: &mut ContenderState,
        session: &Session,
    ) -> Result<bool, StoreError> {
        let ContenderState { znode, next, .. } = state;
        if next.is_none() {
            *next = Znode::read_after(znode);
        }
        let data = self.data_of(&contender.holder);
        let done = match next {
            Some(next) => znode.replace(next, session, &data).await.map_err(unavailable)?,
            None => None,
        };
        match (done, next.take()) {
            (Some(()), Some(read)) => *znode = read,
            _ => {
                self.contenders.remove(contender);
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn convert_down(&self, command: &ConvertCommand) -> Result<Downgraded, StoreError> {
        let session = self.sessions.current().await?;
        let contender = self.contenders.get(&command.holder);
        let Some(contender) = contender.filter(|one| one.session == session.number) else {
            return Ok(Downgraded::Lost);
        };
        let mut state = contender.state.lock().await;
        let (has, after) = (state.holds, command.after);
        if has.none() {
            return Ok(Downgraded::Lost);
        }
        if has.write > 0 && after.write == 0 {
            if !self.become_reader(&contender, &mut state, &session).await? {
                return Ok(Downgraded::Lost);
            }
        } else {
            let held = session.confirm().await.map_err(unavailable)?;
            if !is_among(&held, &state.znode) {
                self.contenders.remove(&contender);
                return Ok(Downgraded::Lost);
            }
        }
        state.holds = after;
        Ok(Downgraded::Done)
    }

    async fn renew_all(&self, commands: Vec<RenewCommand>) -> Result<Vec<Renewal>, StoreError> {
        let session = self.sessions.current().await?;
        let held = session.confirm().await.map_err(unavailable)?;
        let mut renewed = Vec::with_capacity(commands.len());
        for command in commands {
            let contender = self.contenders.get(&command.holder);
            let is_held = match contender.filter(|one| one.session == session.number) {
                Some(contender) => {
                    let state = contender.state.lock().await;
                    !state.holds.none() && is_among(&held, &state.znode)
                }
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

/// Where a contender stands after a try.
pub(super) enum Stands {
    Holds,
    Behind(Acquired),
}

pub(super) const BUSY: Acquired = Acquired::Busy { remaining: None, in_line: true };

fn is_among(held: &HashSet<String>, znode: &Znode) -> bool {
    znode.path().is_some_and(|path| held.contains(&path))
}

impl LockStore for ZooKeeperStore {
    fn acquire(&self, command: AcquireCommand) -> StoreFuture<'_, Acquired> {
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

    /// The number of permits is each client's word, as in Curator: there is none to set.
    fn set_permits(
        &self,
        key: LockKey,
        permits: u32,
        only_missing: bool,
    ) -> StoreFuture<'_, Option<i64>> {
        if !only_missing {
            let what = "setting a semaphore's permits: the number is each client's own, given with \
                        LockClient::semaphore";
            return std::future::ready(Err(Unsupported::new(what).into())).boxed();
        }
        async move { self.within(self.free_permits(&key, permits)).await }.boxed()
    }

    fn upgrade(&self, _: ConvertCommand) -> StoreFuture<'_, Upgraded> {
        let what = "upgrades: Curator's read/write lock has none; release the read, and acquire \
                    the write";
        std::future::ready(Err(Unsupported::new(what).into())).boxed()
    }

    fn downgrade(&self, command: ConvertCommand) -> StoreFuture<'_, Downgraded> {
        async move { self.within(self.convert_down(&command)).await }.boxed()
    }

    fn wakeups(&self, topic: WakeTopic) -> WakeupReceiver {
        match topic {
            WakeTopic::Turn(holder) => self.contenders.turns_of(&holder),
            WakeTopic::ReleaseRequest(key) => self.requests.listen(key),
        }
    }

    fn session_lease(&self) -> Option<Duration> {
        Some(reliable(self.session_timeout))
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
            StoreHealth { kind: "zookeeper", round_trip, warnings, details: details.collect() }
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
