//! Pub/sub: hears of releases, over a connection of its own.
//!
//! A message is a hint. Whatever is heard, a new subscription too, has every waiter of that channel
//! try again, and waiters also look by themselves.
//!
//! What counts as subscribed is what Redis says in its own time, not the answer to a command: a
//! shard that gives a slot away ends its subscriptions unasked, and the redis crate then takes that
//! for the answer to whatever is under way. Nothing else is asked over this connection.

use std::{
    collections::HashSet,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{PushInfo, PushKind, RedisError, Value};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::registry::{Channels, EarId};
use crate::{
    backoff::Backoff,
    store::redis::{
        cluster::Cluster,
        connect::{Connection, Endpoint, Target},
        discovery::Place,
        dispatcher::{Refusal, refusal},
        protocol::woken_by,
    },
};

const FIRST_BACKOFF: Duration = Duration::from_millis(20);
const SLOWEST_BACKOFF: Duration = Duration::from_secs(1);
/// Before a subscription that was refused for a passing reason is tried again.
const PASSING: Duration = Duration::from_millis(50);
/// How often a connection is asked whether it still stands.
const TICK: Duration = Duration::from_secs(5);
/// Subscriptions in one piece.
const MOST_AT_ONCE: usize = 512;

/// One connection that listens.
#[derive(Debug)]
pub(crate) struct Ear {
    id: EarId,
    place: Place,
    share: Share,
    channels: Arc<Channels>,
    closed: CancellationToken,
    /// The log has it already that subscribing is refused.
    told: AtomicBool,
}

/// Which channels a connection hears.
#[derive(Debug)]
pub(crate) enum Share {
    All,
    /// The shard channels of the slots that this node has.
    Node(Weak<Cluster>, Endpoint),
}

impl Share {
    fn has(&self, slot: u16) -> bool {
        match self {
            Self::All => true,
            Self::Node(cluster, node) => {
                cluster.upgrade().is_some_and(|cluster| cluster.has(node, slot))
            }
        }
    }

    fn verbs(&self) -> [&'static str; 2] {
        match self {
            Self::All => ["SUBSCRIBE", "UNSUBSCRIBE"],
            Self::Node(..) => ["SSUBSCRIBE", "SUNSUBSCRIBE"],
        }
    }

    fn cluster(&self) -> Option<Arc<Cluster>> {
        match self {
            Self::All => None,
            Self::Node(cluster, _) => cluster.upgrade(),
        }
    }
}

/// What came of an attempt to subscribe.
enum Subscribed {
    /// What may be heard is.
    Done,
    /// Not all of it; in a moment it may work.
    Later,
    /// The connection is of no use.
    Never,
}

impl Ear {
    pub(crate) fn new(place: Place, share: Share, channels: Arc<Channels>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            place,
            share,
            channels,
            closed: CancellationToken::new(),
            told: AtomicBool::new(false),
        }
    }

    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    /// Keeps a connection subscribed to its share of the channels until this is closed.
    pub(crate) async fn work(&self) {
        let mut backoff = Backoff::new(FIRST_BACKOFF);
        while !self.closed.is_cancelled() {
            let started = Instant::now();
            tokio::select! {
                () = self.closed.cancelled() => {}
                () = self.hear() => {}
            }
            self.channels.lost_all(self.id);
            self.channels.forget_idle(|slot| self.share.has(slot));
            if started.elapsed() > SLOWEST_BACKOFF {
                backoff = Backoff::new(FIRST_BACKOFF);
            }
            let pause = backoff.next(SLOWEST_BACKOFF);
            let _ = tokio::time::timeout(pause, self.closed.cancelled()).await;
        }
    }

    /// Returns when the connection has ended or is of no more use.
    async fn hear(&self) {
        let (pushes, mut pushed) = mpsc::unbounded_channel();
        let opened = async {
            let target = self.place.find().await?;
            let connection = target.open(pushes).await?;
            Ok::<_, crate::store::redis::connect::ConnectError>((target, connection))
        };
        let (target, connection) = match opened.await {
            Ok(opened) => opened,
            Err(why) => {
                tracing::debug!(redis = %self.place, %why, "cannot subscribe");
                return;
            }
        };
        let mut added = self.channels.added();
        let mut map = self.share.cluster().map(|cluster| cluster.changes());
        let mut left = std::pin::pin!(self.place.left(&target));
        let mut tick = tokio::time::interval(TICK);
        let mut asked = HashSet::new();
        let mut look_at = Some(Instant::now());
        loop {
            tokio::select! {
                push = pushed.recv() => match push {
                    Some(push) if push.kind != PushKind::Disconnection => {
                        if self.take(&push, &mut asked) {
                            look_at = look_at.or(Some(Instant::now() + PASSING));
                        }
                    }
                    _ => return,
                },
                () = &mut left => return,
                () = until(look_at) => {
                    look_at = None;
                    match self.subscribe(&target, &connection, &mut pushed, &mut asked).await {
                        Subscribed::Done => {}
                        Subscribed::Later => look_at = Some(Instant::now() + PASSING),
                        Subscribed::Never => return,
                    }
                }
                Ok(()) = added.changed() => look_at = Some(Instant::now()),
                () = changed(&mut map) => look_at = Some(Instant::now()),
                _ = tick.tick() => {
                    self.channels.forget_idle(|slot| self.share.has(slot));
                    // Whatever was not confirmed by now is asked for again.
                    asked.retain(|name| !self.channels.is_missed(name, self.id));
                    look_at = Some(Instant::now());
                    if !answers(&target, &connection).await {
                        return;
                    }
                }
            }
        }
    }

    /// Subscribes to what is missing and unsubscribes from what is not wanted any more.
    async fn subscribe(
        &self,
        target: &Target,
        connection: &Connection,
        pushed: &mut mpsc::UnboundedReceiver<PushInfo>,
        asked: &mut HashSet<String>,
    ) -> Subscribed {
        let (missing, extra) = self.channels.compare(asked, |slot| self.share.has(slot));
        let [subscribe, unsubscribe] = self.share.verbs();
        let more = missing.into_iter().map(|name| (subscribe, name));
        let changes: Vec<_> =
            more.chain(extra.into_iter().map(|name| (unsubscribe, name))).collect();
        let mut outcome = Subscribed::Done;
        for changes in changes.chunks(MOST_AT_ONCE) {
            let mut pipeline = redis::pipe();
            for (verb, name) in changes {
                // One channel each: a shard refuses channels of several slots in one command.
                pipeline.cmd(verb).arg(name);
                if *verb == subscribe {
                    asked.insert(name.clone())
                } else {
                    asked.remove(name)
                };
            }
            let mut connection = (*connection).clone();
            let answers = connection.send_packed_commands(&pipeline, 0, changes.len());
            let Ok(Ok(answers)) = tokio::time::timeout(target.connect_timeout, answers).await
            else {
                return Subscribed::Never;
            };
            for answer in answers {
                if let Value::ServerError(error) = answer {
                    match self.refused(target, &error.into()) {
                        Subscribed::Done => {}
                        Subscribed::Never => {
                            // Not every refusal ends the connection, but a new one is the only
                            // remedy.
                            tokio::time::sleep(SLOWEST_BACKOFF).await;
                            return Subscribed::Never;
                        }
                        Subscribed::Later => outcome = Subscribed::Later,
                    }
                }
            }
        }
        if matches!(outcome, Subscribed::Later) {
            while let Ok(push) = pushed.try_recv() {
                self.take(&push, asked);
            }
            asked.retain(|name| !self.channels.is_missed(name, self.id));
        }
        outcome
    }

    fn refused(&self, target: &Target, error: &RedisError) -> Subscribed {
        match (refusal(error), self.share.cluster()) {
            (Refusal::Elsewhere(to), Some(cluster)) => {
                let slot = error.redirect_node().map(|(_, slot)| slot);
                if let Some(slot) = slot {
                    cluster.moved(slot, Endpoint::parse(&to, &target.endpoint));
                }
                Subscribed::Later
            }
            (Refusal::Passing { .. }, _) => Subscribed::Later,
            _ => {
                if !self.told.swap(true, Ordering::Relaxed) {
                    tracing::warn!(redis = %target.address, %error, "cannot subscribe: waiters poll");
                }
                // One channel that may not be heard is asked for again at the next tick, and costs
                // the others nothing.
                if error.code() == Some("NOPERM") { Subscribed::Done } else { Subscribed::Never }
            }
        }
    }

    /// Says whether something has to be subscribed to again.
    pub(crate) fn take(&self, push: &PushInfo, asked: &mut HashSet<String>) -> bool {
        let Some(Value::BulkString(channel)) = push.data.first() else {
            return false;
        };
        let Ok(channel) = std::str::from_utf8(channel) else {
            return false;
        };
        match push.kind {
            PushKind::Message | PushKind::SMessage => {
                let number = match push.data.get(1) {
                    Some(Value::BulkString(message)) => woken_by(message),
                    _ => None,
                };
                self.channels.message(channel, number);
            }
            PushKind::Subscribe | PushKind::SSubscribe => {
                self.channels.heard(channel, self.id);
            }
            PushKind::Unsubscribe | PushKind::SUnsubscribe => {
                self.channels.lost(channel, self.id);
                if asked.remove(channel) {
                    if let Some(cluster) = self.share.cluster() {
                        cluster.doubt();
                    }
                    return true;
                }
            }
            _ => {}
        }
        false
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

async fn changed<T>(map: &mut Option<watch::Receiver<T>>) {
    if let Some(map) = map
        && map.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

async fn answers(target: &Target, connection: &Connection) -> bool {
    let mut connection = (*connection).clone();
    let ping = redis::cmd("PING");
    let answer = ping.query_async::<Value>(&mut connection);
    match tokio::time::timeout(target.connect_timeout, answer).await {
        Ok(Ok(_)) => true,
        // Not every user may send it.
        Ok(Err(error)) => error.code().is_some(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::redis::connect::RedisOptions;

    #[tokio::test(start_paused = true)]
    async fn what_nobody_waits_for_is_forgotten_though_nothing_can_be_heard() {
        let nowhere = Endpoint::Tcp("127.0.0.1".to_owned(), 1);
        let (login, options) = (redis::RedisConnectionInfo::default(), RedisOptions::default());
        let target = Target::new(nowhere, &login, None, &options, "");
        let channels = Arc::<Channels>::default();
        let place = Place::Fixed(Arc::new(target));
        let ear = Ear::new(place, Share::All, Arc::clone(&channels));
        let _waits = channels.listen("waited for".to_owned(), 0, None);
        drop(channels.listen("left".to_owned(), 0, None));
        let _ = tokio::time::timeout(Duration::from_secs(30), ear.work()).await;
        let (kept, _) = channels.compare(&HashSet::new(), |_| true);
        assert_eq!(kept, ["waited for"]);
    }
}
