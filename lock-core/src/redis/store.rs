//! The locks in one Redis, as a [`LockStore`]. On Redisson's wire each command is one script call.
//! On the native wire a first attempt at a free lock is a plain try, and releases go through the
//! writer.
//!
//! One file: it is one trait, of which each method is a few lines.

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all, try_join_all},
};
use lock_store::{
    self, AcquireCommand, Acquired, AcquiredAll, ClientInfo, ConvertCommand, Downgraded,
    ForcedRelease, Holder, KeyPage, Kind, LeaveCommand, LockKey, LockSnapshot, LockStore, Mode,
    ReleaseCommand, Released, RenewCommand, Renewal, StoreAdmin, StoreError, StoreFuture,
    StoreHealth, StoreIdentity, TransferCommand, Transferred, Unavailable, Unsupported, Upgraded,
    WakeTopic, WakeupReceiver, WorkRecord,
};
use redis::Value;
use tokio::time::Instant;

use super::{
    connection::{ClientName, Connection, client_name, work_records},
    dispatcher::{Dispatched, Dispatcher, Topology},
    native::{NativeWire, Tried, Writer},
    permit_numbers::PermitNumbers,
    protocol::{Replicas, Reply, Request, ScriptCall, Wire, decode, slot_of, taken_channel},
    pubsub::Channels,
    recent_keys::RecentKeys,
};

/// The longest time that a shutdown takes beyond its deadline, however long the command timeout is.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(500);

/// The most permits that one acquisition takes on Redisson's wire: Redis keeps each of them by itself, and
/// answers no other client meanwhile.
const MOST_PERMITS_AT_ONCE: u32 = 10_000;

pub(crate) struct RedisStore {
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) channels: Arc<Channels>,
    pub(crate) name: Arc<ClientName>,
    pub(crate) wire: Arc<dyn Wire>,
    /// For an operator's look at locks of the other wire.
    pub(crate) other_wire: Arc<dyn Wire>,
    pub(crate) replicas: Option<Replicas>,
    pub(crate) native: Option<Native>,
    /// The keys whose last release here met waiters of another library; on Redisson's wire alone.
    pub(crate) met_others: Option<RecentKeys>,
    pub(crate) permit_numbers: PermitNumbers,
}

/// The parts that only the native wire has.
pub(crate) struct Native {
    pub(crate) wire: Arc<NativeWire>,
    pub(crate) writer: Writer,
    /// The keys that were not free a moment ago. A plain try at one is skipped: most such locks are
    /// contended, and the script that follows a refusal does everything that the try would do.
    pub(crate) refusals: Arc<RecentKeys>,
}

impl Native {
    /// Whether a plain try is worth a command: for an outermost hold of a lock that was not refused
    /// a moment ago. A semaphore has no value of a single holder. Beside other libraries the script
    /// checks first whether the lock is left free for them.
    fn may_be_free(&self, command: &AcquireCommand) -> bool {
        command.holds == 1
            && command.kind != Kind::Semaphore
            && !self.wire.beside_set_nx
            && !self.refusals.is_recent(&command.key)
    }
}

/// Shows the address only: anyone with a client's number could release its locks.
impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.dispatcher, f)
    }
}

impl RedisStore {
    /// Gives a call a nonce, so that its reply cannot be mistaken for that of another call.
    pub(super) fn call(&self, mut call: ScriptCall) -> ScriptCall {
        call.nonce = self.dispatcher.nonce();
        call
    }

    async fn run(&self, call: &ScriptCall) -> Result<Reply, Unavailable> {
        Ok(Reply::new(self.dispatch(call, None).await?.answer))
    }

    /// A grant counts only once enough replicas have it, if that is configured.
    async fn run_acquire(
        &self,
        call: &ScriptCall,
    ) -> Result<(Reply, Arc<Connection>), Unavailable> {
        let answered = self.dispatch(call, self.replicas).await?;
        let reply = Reply::new(answered.answer);
        let confirmed = answered.replicas.unwrap_or_default();
        match self.replicas {
            Some(wanted) if reply.is_grant() && confirmed < i64::from(wanted.count) => {
                // An error although Redis has granted the lock: the caller's lease releases it. As
                // a grant it could be lost in a failover while the caller relies on it.
                Err(Unavailable::unsent(format!(
                    "{confirmed} of {} replicas confirmed the lock within {:?}: it is released \
                     again",
                    wanted.count, wanted.timeout
                )))
            }
            _ => Ok((reply, answered.over)),
        }
    }

    /// Refuses an acquisition that would keep Redis from all other clients for long.
    fn check_permits(&self, command: &AcquireCommand) -> Result<(), Unsupported> {
        let wanted = command.wanted_permits;
        if self.native.is_some() || wanted <= MOST_PERMITS_AT_ONCE {
            return Ok(());
        }
        Err(Unsupported::new(format!(
            "{wanted} permits in one acquisition on Redisson's wire: at most {MOST_PERMITS_AT_ONCE}, \
             because Redis takes time for each, and answers no other client meanwhile"
        )))
    }

    async fn acquire_by_script(&self, command: AcquireCommand) -> Result<Acquired, StoreError> {
        self.check_permits(&command)?;
        let call = self.call(self.wire.acquire(&command));
        // The script may read the clock at any moment from here on: counted from the reply, the
        // counter would be relied on for too long.
        let sent = Instant::now();
        let (reply, over) = self.run_acquire(&call).await?;
        let answer = reply.acquired()?;
        match (answer, &self.native) {
            (Acquired::Granted(Some(token)), Some(native)) => {
                let counter = native.wire.counter(native.wire.slot_of(&command.key));
                counter.granted(token, command.reserved_tokens);
                counter.raised(&over, sent);
            }
            (Acquired::Busy { .. } | Acquired::Yield { .. }, Some(native)) => {
                native.refusals.add(&command.key);
            }
            (_, None) if command.kind == Kind::Semaphore => {
                self.permit_numbers.compare(
                    &command.key,
                    command.permits,
                    reply.permits_in_store(),
                );
            }
            _ => {}
        }
        Ok(answer)
    }

    pub(super) async fn dispatch(
        &self,
        call: &ScriptCall,
        replicas: Option<Replicas>,
    ) -> Result<Dispatched, Unavailable> {
        let slot = slot_of(call.first_key());
        let check = |value: &Value| decode::answers(value, &call.nonce);
        self.dispatcher.send(slot, &Request::Script(call), replicas, check).await
    }

    /// Runs a script of this client's wire. If the lock's name has a value of another type, runs
    /// that of the other wire, where it may be a lock.
    fn on_either_wire<'a, T: Send + 'a>(
        &'a self,
        encode: impl Fn(&dyn Wire) -> ScriptCall + Send + 'static,
        decode: fn(&Reply) -> Result<Option<T>, Unavailable>,
    ) -> StoreFuture<'a, Option<T>> {
        async move {
            for wire in [&self.wire, &self.other_wire] {
                let call = self.call(encode(&**wire));
                if let Some(found) = decode(&self.run(&call).await?)? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        }
        .boxed()
    }

    /// Notifies the clients of these holders that their lock was taken away. A hint: they find out with
    /// their next renewal in any case.
    async fn publish_taken(&self, snapshot: &LockSnapshot) {
        let clients = snapshot.holders.iter().filter_map(|holder| holder.owner.rsplit_once(':'));
        let clients: HashSet<&str> = clients.map(|(client, _)| client).collect();
        join_all(clients.into_iter().map(async |client| {
            let channel = taken_channel(self.wire.prefix(), client);
            let slot = slot_of(channel.as_bytes());
            let publish = |verb| redis::cmd(verb).arg(&channel).arg("1").to_owned();
            let mut published = Err(Unavailable::unsent("it is not published yet"));
            if let Topology::Cluster(_) = self.dispatcher.topology {
                published = self.command(slot, &publish("SPUBLISH")).await;
            }
            // Before Redis 7 a cluster has no channels of shards.
            if published.is_err()
                && let Err(why) = self.command(slot, &publish("PUBLISH")).await
            {
                tracing::debug!(%why, "cannot notify a holder that its lock was taken away");
            }
        }))
        .await;
    }

    pub(crate) async fn command(
        &self,
        slot: u16,
        command: &redis::Cmd,
    ) -> Result<Value, Unavailable> {
        let request = Request::Command(command);
        Ok(self.dispatcher.send(slot, &request, None, |_| Ok(())).await?.answer)
    }
}

impl LockStore for RedisStore {
    fn acquire(&self, command: AcquireCommand) -> StoreFuture<'_, Acquired> {
        async move {
            if let Some(native) = self.native.as_ref().filter(|native| native.may_be_free(&command))
                // A plain try is not followed by WAIT: with replicas every grant must be confirmed,
                // so the script goes first.
                && self.replicas.is_none()
            {
                match native.writer.try_free(&command).await {
                    Tried::Granted(token) => return Ok(Acquired::Granted(Some(token))),
                    Tried::Failed(why) => return Err(why.into()),
                    Tried::Refused => native.refusals.add(&command.key),
                    Tried::Unknown => {}
                }
            }
            // Boxed apart: the part above is moved for every request, and must be small.
            Box::pin(self.acquire_by_script(command)).await
        }
        .boxed()
    }

    fn supports_atomic_multi(&self, keys: &[&LockKey]) -> bool {
        let mut shards = keys.iter().map(|key| self.shard(key));
        let first = shards.next();
        shards.all(|shard| Some(shard) == first)
    }

    fn acquire_all(&self, commands: Vec<AcquireCommand>) -> StoreFuture<'_, AcquiredAll> {
        let call = self.call(self.wire.acquire_all(&commands));
        async move {
            commands.iter().try_for_each(|command| self.check_permits(command))?;
            let answer = self.run_acquire(&call).await?.0.acquired_all(commands.len())?;
            if let AcquiredAll::Granted(tokens) = &answer {
                let granted = commands
                    .iter()
                    .zip(tokens)
                    .filter_map(|(command, token)| Some((command, (*token)?)));
                granted.for_each(|(command, token)| {
                    self.wire.granted(&command.key, token, command.reserved_tokens)
                });
            }
            Ok(answer)
        }
        .boxed()
    }

    fn release(&self, command: ReleaseCommand) -> StoreFuture<'_, Released> {
        async move {
            let mut answers = self.release_all(vec![command]).await;
            answers.pop().unwrap_or_else(|| Err(Unavailable::unsent("BUG: no answer").into()))
        }
        .boxed()
    }

    fn release_all(
        &self,
        commands: Vec<ReleaseCommand>,
    ) -> BoxFuture<'_, Vec<Result<Released, StoreError>>> {
        match &self.native {
            Some(native) => native.writer.release_all(commands).boxed(),
            None => self.release_by_scripts(commands).boxed(),
        }
    }

    fn met_others(&self, key: &LockKey) -> Option<Duration> {
        self.met_others.as_ref()?.age(key)
    }

    fn leave(&self, command: LeaveCommand) -> StoreFuture<'_, ()> {
        if let Some(native) = &self.native {
            return async move { Ok(native.writer.leave(command).await?) }.boxed();
        }
        let Some(call) = self.wire.leave(&command) else {
            return lock_store::leave_one_by_one(self, command);
        };
        let call = self.call(call);
        async move { Ok(self.run(&call).await?.left()?) }.boxed()
    }

    fn shard(&self, key: &LockKey) -> u16 {
        match self.dispatcher.topology {
            Topology::Single(_) => 0,
            Topology::Cluster(_) => slot_of(self.wire.lock_name(key).as_bytes()),
        }
    }

    fn renew(&self, mode: Mode, commands: Vec<RenewCommand>) -> StoreFuture<'_, Vec<Renewal>> {
        let call = self.call(self.wire.renew(mode, &commands));
        async move { Ok(self.run(&call).await?.renewed()?) }.boxed()
    }

    fn reserves_tokens(&self) -> bool {
        true
    }

    fn supports_mode_changes(&self) -> bool {
        true
    }

    fn upgrade(&self, command: ConvertCommand) -> StoreFuture<'_, Upgraded> {
        let call = self.call(self.wire.upgrade(&command));
        async move {
            let answer = self.run_acquire(&call).await?.0.upgraded()?;
            if let Upgraded::Granted(token) = answer {
                self.wire.granted(&command.holder.key, token, 0);
            }
            Ok(answer)
        }
        .boxed()
    }

    fn downgrade(&self, command: ConvertCommand) -> StoreFuture<'_, Downgraded> {
        let call = self.call(self.wire.downgrade(&command));
        async move { Ok(self.run(&call).await?.downgraded()?) }.boxed()
    }

    fn supports_transfers(&self) -> bool {
        true
    }

    fn transfer(&self, command: TransferCommand) -> StoreFuture<'_, Transferred> {
        let call = self.call(self.wire.transfer(&command));
        async move { Ok(self.run(&call).await?.transferred()?) }.boxed()
    }

    fn free_permits(&self, key: LockKey, permits: u32) -> StoreFuture<'_, Option<i64>> {
        let call = self.call(self.wire.free_permits(&key, permits));
        async move { Ok(self.run(&call).await?.free_permits(permits)?) }.boxed()
    }

    fn set_permits(&self, key: LockKey, permits: u32) -> StoreFuture<'_, Option<i64>> {
        let Some(call) = self.wire.set_permits(&key, permits) else {
            return lock_store::own_number_of_permits();
        };
        let call = self.call(call);
        async move {
            let free = self.run(&call).await?.free_permits(permits)?;
            self.permit_numbers.forget(&key);
            Ok(free)
        }
        .boxed()
    }

    fn record_work(&self, records: Vec<WorkRecord>) -> StoreFuture<'_, ()> {
        let written = records.into_iter().map(async |record| {
            let (slot, write) = work_records::write(&record);
            self.command(slot, &write).await.map(drop)
        });
        let written: Vec<_> = written.collect();
        async move { Ok(try_join_all(written).await.map(drop)?) }.boxed()
    }

    fn wakeups(&self, topic: WakeTopic) -> WakeupReceiver {
        let (channel, number) = self.wire.channel(topic);
        let slot = slot_of(channel.as_bytes());
        self.channels.listen(channel, slot, number)
    }

    fn connection_status(&self) -> Result<(), Unavailable> {
        self.dispatcher.check(self.dispatcher.command_timeout)
    }

    fn probe(&self, key: LockKey) -> StoreFuture<'_, ()> {
        async move { self.inspect(key).await.map(|_| ()) }.boxed()
    }

    fn identity(&self) -> StoreFuture<'_, StoreIdentity> {
        async move {
            let info = self.command(0, redis::cmd("INFO").arg("server")).await?;
            let why = "the server does not report its run id";
            Ok(identity(&info).ok_or_else(|| Unavailable::unsent(why))?)
        }
        .boxed()
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        async move {
            let (round_trip, warnings) = match &self.dispatcher.topology {
                Topology::Single(managed) => {
                    let sent = Instant::now();
                    let probe = self.call(self.wire.probe());
                    let round_trip = self.run(&probe).await.map(|_| sent.elapsed());
                    (round_trip, managed.warnings.all())
                }
                Topology::Cluster(cluster) => cluster.health(self.dispatcher.command_timeout).await,
            };
            let mut health = StoreHealth::new("redis", round_trip);
            health.warnings = warnings.into_iter().chain(self.permit_numbers.warnings()).collect();
            health
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async move {
            let slot = slot_of(self.name.key.as_bytes());
            // Best effort: if it fails, the name expires.
            let remove = self.name.remove();
            let _ = tokio::time::timeout(SHUTDOWN_GRACE, self.command(slot, &remove)).await;
            self.dispatcher.close();
        }
        .boxed()
    }

    fn admin(&self) -> Option<&dyn StoreAdmin> {
        Some(self)
    }
}

impl StoreAdmin for RedisStore {
    fn inspect(&self, key: LockKey) -> StoreFuture<'_, Option<LockSnapshot>> {
        self.on_either_wire(move |wire| wire.inspect(&key, true), Reply::snapshot)
    }

    fn inspect_holders(&self, key: LockKey) -> StoreFuture<'_, Option<LockSnapshot>> {
        self.on_either_wire(move |wire| wire.inspect(&key, false), Reply::snapshot)
    }

    fn list(
        &self,
        prefix: String,
        after: Option<String>,
        limit: usize,
    ) -> StoreFuture<'_, KeyPage> {
        async move { RedisStore::list(self, &prefix, after.as_deref(), limit).await }.boxed()
    }

    fn client_names(&self, clients: Vec<String>) -> StoreFuture<'_, Vec<Option<ClientInfo>>> {
        let names = clients.into_iter().map(|client| async move {
            let (slot, read) = client_name::of(&client);
            let name = self.command(slot, &read).await?;
            Ok(client_name::parse(&name))
        });
        try_join_all(names).boxed()
    }

    fn work(&self, owners: Vec<String>) -> StoreFuture<'_, Vec<Option<String>>> {
        let texts = owners.into_iter().map(|owner| async move {
            let (slot, read) = work_records::read(&owner);
            let text = self.command(slot, &read).await?;
            Ok(redis::from_redis_value(text).ok().flatten())
        });
        try_join_all(texts).boxed()
    }

    fn force_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<ForcedRelease>> {
        async move {
            // Read before: the script removes the holders, and their clients could not be notified.
            let snapshot =
                self.inspect_holders(key.clone()).await.ok().flatten().unwrap_or_default();
            let if_held_by = if_held_by.unwrap_or_default();
            let take = move |wire: &dyn Wire| wire.force_release(&key, &if_held_by);
            let forced = self.on_either_wire(take, Reply::forced).await?;
            if forced.is_some_and(|forced| forced.was_held) {
                self.publish_taken(&snapshot).await;
            }
            Ok(forced)
        }
        .boxed()
    }

    fn request_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<u32>> {
        let if_held_by = if_held_by.unwrap_or_default();
        let request = move |wire: &dyn Wire| wire.request_release(&key, &if_held_by);
        self.on_either_wire(request, Reply::requested)
    }

    fn release_requested(&self, holder: Holder) -> StoreFuture<'_, bool> {
        let call = self.call(self.wire.release_requested(&holder));
        async move { Ok(self.run(&call).await?.requested()?.is_some_and(|count| count > 0)) }
            .boxed()
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        self.dispatcher.close();
    }
}

/// Parses `INFO server`.
fn identity(info: &Value) -> Option<StoreIdentity> {
    let info: String = redis::from_redis_value_ref(info).ok()?;
    let field = |name| info.lines().find_map(|line| line.strip_prefix(name));
    let seconds: u64 = field("uptime_in_seconds:")?.trim().parse().ok()?;
    // Whole seconds, rounded: up to one more than the real uptime.
    let up = Duration::from_secs(seconds.saturating_sub(1));
    Some(StoreIdentity::new(field("run_id:")?.trim(), up))
}
