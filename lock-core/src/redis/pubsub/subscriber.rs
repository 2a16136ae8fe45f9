//! Pub/sub: receives notifications of releases, over a separate connection.
//!
//! A message is a hint. Every message, and every new subscription, makes each waiter of that
//! channel try again, and waiters also poll.
//!
//! A channel counts as subscribed when Redis sends its confirmation, not when the command is
//! answered. A shard that gives a slot away ends its subscriptions unprompted, and that message may be
//! taken for the answer to the pending command.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::stream::StreamExt;
use lock_store::runtime::Backoff;
use redis::{PushInfo, PushKind, RedisError, Value};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::channel_filter::ChannelFilter;
use super::registry::{Channels, SubscriberId};
use crate::redis::{
    connect::{ConnectError, ErrorClass, Server, classify},
    connection::{Transport, push_channel},
    discovery::Discovery,
    protocol::{Packed, reason, woken_by},
};

const FIRST_BACKOFF: Duration = Duration::from_millis(20);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// The pause before a subscription that was refused for a passing reason is tried again.
const TRANSIENT_RETRY: Duration = Duration::from_millis(50);
/// How often the connection is checked.
const TICK: Duration = Duration::from_secs(5);
/// The most subscriptions in one write.
const MAX_AT_ONCE: usize = 512;

/// One connection for subscriptions.
#[derive(Debug)]
pub(crate) struct Subscriber {
    id: SubscriberId,
    discovery: Box<dyn Discovery>,
    filter: ChannelFilter,
    channels: Arc<Channels>,
    closed: CancellationToken,
    /// The log already reports that subscribing is refused.
    warned: AtomicBool,
}

/// The outcome of an attempt to subscribe.
enum Subscribed {
    /// Every channel that the user may subscribe to is subscribed.
    Done,
    /// Some are missing; a retry may succeed in a moment.
    Later,
    /// The connection is unusable.
    Never,
}

impl Subscriber {
    pub(crate) fn new(
        discovery: Box<dyn Discovery>,
        filter: ChannelFilter,
        channels: Arc<Channels>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            discovery,
            filter,
            channels,
            closed: CancellationToken::new(),
            warned: AtomicBool::new(false),
        }
    }

    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    /// Keeps a connection subscribed to its share of the channels until this is closed.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut backoff = Backoff::new(FIRST_BACKOFF);
        while !self.closed.is_cancelled() {
            let started = Instant::now();
            tokio::select! {
                () = self.closed.cancelled() => {}
                () = self.run_connection() => {}
            }
            // Wakes every waiter once, and from then on they poll. Messages that are published
            // before the next subscription are lost, and a waiter that relied on them would sleep
            // past a release.
            self.channels.unsubscribed_all(self.id);
            self.channels.drop_idle(|slot| self.filter.has(slot));
            if started.elapsed() > MAX_BACKOFF {
                backoff = Backoff::new(FIRST_BACKOFF);
            }
            let pause = backoff.next(MAX_BACKOFF);
            let _ = tokio::time::timeout(pause, self.closed.cancelled()).await;
        }
    }

    /// Returns when the connection has ended or is unusable.
    async fn run_connection(&self) {
        let (pushes, mut pushed) = push_channel();
        let opened = async {
            let server = self.discovery.find().await?;
            let connection = Transport::open(&server, pushes).await?;
            Ok::<_, ConnectError>((server, connection))
        };
        let (server, connection) = match opened.await {
            Ok(opened) => opened,
            Err(why) => {
                tracing::debug!(redis = %self.discovery, %why, "cannot subscribe");
                return;
            }
        };
        let mut added = self.channels.added();
        let mut changes = self.filter.changes();
        let mut superseded = self.discovery.superseded(&server);
        let mut tick = tokio::time::interval(TICK);
        // The channels that were requested over this connection. `Channels` has those that Redis
        // has confirmed, and only these count for waiters: an earlier release would wake none of
        // them.
        let mut subscribed = HashSet::new();
        let mut look_at = Some(Instant::now());
        loop {
            tokio::select! {
                push = pushed.recv() => match push {
                    Some(push) => {
                        if self.on_push(&push, &mut subscribed) {
                            look_at = look_at.or(Some(Instant::now() + TRANSIENT_RETRY));
                        }
                    }
                    None => return,
                },
                () = &mut superseded => return,
                () = until(look_at) => {
                    look_at = None;
                    match self.subscribe(&server, &connection, &mut pushed, &mut subscribed).await {
                        Subscribed::Done => {}
                        Subscribed::Later => look_at = Some(Instant::now() + TRANSIENT_RETRY),
                        Subscribed::Never => return,
                    }
                }
                Ok(()) = added.changed() => look_at = Some(Instant::now()),
                Some(()) = changes.next() => look_at = Some(Instant::now()),
                _ = tick.tick() => {
                    self.channels.drop_idle(|slot| self.filter.has(slot));
                    // Every subscription that is still not confirmed is sent again.
                    subscribed.retain(|name| !self.channels.is_missing(name, self.id));
                    look_at = Some(Instant::now());
                    if !answers(&server, &connection).await {
                        return;
                    }
                }
            }
        }
    }

    /// Subscribes to missing channels and unsubscribes from unused ones.
    async fn subscribe(
        &self,
        server: &Server,
        connection: &Transport,
        pushed: &mut mpsc::Receiver<PushInfo>,
        subscribed: &mut HashSet<String>,
    ) -> Subscribed {
        let (missing, extra) = self.channels.compare(subscribed, |slot| self.filter.has(slot));
        let [subscribe, unsubscribe] = self.filter.verbs();
        let more = missing.into_iter().map(|name| (subscribe, name));
        let changes: Vec<_> =
            more.chain(extra.into_iter().map(|name| (unsubscribe, name))).collect();
        let mut outcome = Subscribed::Done;
        for changes in changes.chunks(MAX_AT_ONCE) {
            let mut commands = Packed::default();
            for (verb, name) in changes {
                // One channel each: a shard refuses channels of several slots in one command.
                commands.command(2).arg(verb).arg(name);
                // Recorded before the reply: if the node ends the subscription in between,
                // `on_push` finds it here and subscribes again.
                if *verb == subscribe {
                    subscribed.insert(name.clone())
                } else {
                    subscribed.remove(name)
                };
            }
            let answers = connection.subscribe(&commands);
            let Ok(Ok(answers)) = tokio::time::timeout(server.connect_timeout, answers).await
            else {
                return Subscribed::Never;
            };
            for answer in answers {
                if let Value::ServerError(error) = answer {
                    match self.refused(server, &error.into()) {
                        Subscribed::Done => {}
                        Subscribed::Never => {
                            // Only a new connection helps, but not every refusal ends this one. The
                            // pause keeps the loop from dialling as fast as it can.
                            tokio::time::sleep(MAX_BACKOFF).await;
                            return Subscribed::Never;
                        }
                        Subscribed::Later => outcome = Subscribed::Later,
                    }
                }
            }
            // Each confirmation is a push. Those of all channels together could fill the channel of
            // pushes, which would end the connection.
            while let Ok(push) = pushed.try_recv() {
                if self.on_push(&push, subscribed) {
                    outcome = Subscribed::Later;
                }
            }
        }
        if matches!(outcome, Subscribed::Later) {
            subscribed.retain(|name| !self.channels.is_missing(name, self.id));
        }
        outcome
    }

    fn refused(&self, server: &Server, error: &RedisError) -> Subscribed {
        match (classify(error), &self.filter) {
            (ErrorClass::Moved(to), ChannelFilter::Slots(owner)) => {
                // The map is corrected at once: the subscriber of the new owner then subscribes to
                // the channel. Until that is confirmed its waiters poll.
                if let Some((_, slot)) = error.redirect_node() {
                    owner.moved(slot, server.redirected(&to));
                }
                Subscribed::Later
            }
            (ErrorClass::Transient { .. }, _) => Subscribed::Later,
            _ => {
                if !self.warned.swap(true, Ordering::Relaxed) {
                    let error = reason(error);
                    tracing::warn!(redis = %server.address, error, "cannot subscribe: waiters poll");
                }
                // A channel that the user may not subscribe to is tried again at the next tick, and
                // does not affect the others.
                if error.code() == Some("NOPERM") { Subscribed::Done } else { Subscribed::Never }
            }
        }
    }

    /// Handles a push; returns whether a channel must be subscribed again.
    pub(crate) fn on_push(&self, push: &PushInfo, subscribed: &mut HashSet<String>) -> bool {
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
                self.channels.subscribed(channel, self.id);
            }
            PushKind::Unsubscribe | PushKind::SUnsubscribe => {
                self.channels.unsubscribed(channel, self.id);
                // This client removes a channel before it unsubscribes. So the node has ended this
                // subscription itself, and no message would arrive any more.
                if subscribed.remove(channel) {
                    if let ChannelFilter::Slots(owner) = &self.filter {
                        owner.suspect();
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

async fn answers(server: &Server, connection: &Transport) -> bool {
    let ping = redis::cmd("PING");
    let answer = connection.query::<Value>(&ping);
    match tokio::time::timeout(server.connect_timeout, answer).await {
        Ok(Ok(_)) => true,
        // Not every user may send it.
        Ok(Err(error)) => error.code().is_some(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream::{self, BoxStream, StreamExt};

    use super::*;
    use crate::redis::{
        connect::{
            Endpoint,
            fake_server::{FakeServer, server_at, server_error},
        },
        discovery::Fixed,
        pubsub::SlotOwner,
    };

    #[tokio::test(start_paused = true)]
    async fn unwanted_topics_are_forgotten_without_a_connection() {
        let nowhere = Endpoint::Tcp("127.0.0.1".to_owned(), 1);
        let server = server_at(nowhere);
        let channels = Arc::<Channels>::default();
        let discovery = Box::new(Fixed(Arc::new(server)));
        let subscriber = Subscriber::new(discovery, ChannelFilter::All, Arc::clone(&channels));
        let _waits = channels.listen("waited for".to_owned(), 0, None);
        drop(channels.listen("left".to_owned(), 0, None));
        let _ = tokio::time::timeout(Duration::from_secs(30), Arc::new(subscriber).run()).await;
        let (kept, _) = channels.compare(&HashSet::new(), |_| true);
        assert_eq!(kept, ["waited for"]);
    }

    /// Owns the even slots, and records its calls.
    #[derive(Debug, Default)]
    struct Owner {
        moved: std::sync::Mutex<Vec<(u16, Option<Endpoint>)>>,
        suspected: AtomicU64,
    }

    impl SlotOwner for Arc<Owner> {
        fn owns(&self, slot: u16) -> bool {
            slot.is_multiple_of(2)
        }

        fn changes(&self) -> BoxStream<'static, ()> {
            stream::pending().boxed()
        }

        fn moved(&self, slot: u16, to: Option<Endpoint>) {
            self.moved.lock().expect("no panic").push((slot, to));
        }

        fn suspect(&self) {
            self.suspected.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn node() -> (Arc<Owner>, Subscriber, Arc<Channels>, Server) {
        let owner = Arc::<Owner>::default();
        let server = server_at(Endpoint::Tcp("h".to_owned(), 1));
        let channels = Arc::<Channels>::default();
        let discovery = Box::new(Fixed(Arc::new(server.clone())));
        let filter = ChannelFilter::Slots(Box::new(Arc::clone(&owner)));
        (owner, Subscriber::new(discovery, filter, Arc::clone(&channels)), channels, server)
    }

    fn push(kind: PushKind, data: &[&str]) -> PushInfo {
        let data = data.iter().map(|text| Value::BulkString(text.as_bytes().into())).collect();
        PushInfo { kind, data }
    }

    #[tokio::test(start_paused = true)]
    async fn a_shard_that_ends_a_subscription_may_have_given_its_slot_away() {
        let (owner, subscriber, channels, _) = node();
        let mut subscribed = HashSet::from(["c".to_owned()]);
        let receiver = channels.listen("c".to_owned(), 2, None);
        let state = || (receiver.state().subscribed, receiver.state().count);
        assert!(!subscriber.on_push(&push(PushKind::SSubscribe, &["c"]), &mut subscribed));
        assert_eq!(state(), (true, 1));
        assert!(!subscriber.on_push(&push(PushKind::SMessage, &["c", "1"]), &mut subscribed));
        assert_eq!(state(), (true, 2));
        assert!(subscriber.on_push(&push(PushKind::SUnsubscribe, &["c"]), &mut subscribed));
        assert_eq!(state(), (false, 3));
        assert_eq!((owner.suspected.load(Ordering::Relaxed), subscribed.len()), (1, 0));
        // Its own request to unsubscribe was answered.
        assert!(!subscriber.on_push(&push(PushKind::SUnsubscribe, &["c"]), &mut subscribed));
        assert_eq!(owner.suspected.load(Ordering::Relaxed), 1);
        assert!(
            !subscriber
                .on_push(&PushInfo { kind: PushKind::SMessage, data: Vec::new() }, &mut subscribed)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_with_a_number_is_for_one_waiter() {
        let (_, subscriber, channels, _) = node();
        let [first, second] = [0, 1].map(|number| channels.listen("c".to_owned(), 2, Some(number)));
        subscriber.on_push(&push(PushKind::SMessage, &["c", "001"]), &mut HashSet::new());
        assert_eq!((first.state().count, second.state().count), (0, 1));
    }

    #[test]
    fn a_refusal_decides_when_to_subscribe_again() {
        let (owner, subscriber, _, server) = node();
        let outcome = |reply: &str| match subscriber.refused(&server, &server_error(reply)) {
            Subscribed::Done => "done",
            Subscribed::Later => "later",
            Subscribed::Never => "never",
        };
        assert_eq!(outcome("MOVED 7 :9"), "later");
        assert_eq!(
            *owner.moved.lock().expect("no panic"),
            [(7, Some(Endpoint::Tcp("h".to_owned(), 9)))]
        );
        assert_eq!(outcome("CLUSTERDOWN Hash slot not served"), "later");
        assert_eq!(outcome("NOPERM No permissions to access a channel"), "done");
        assert_eq!(outcome("ERR unknown command"), "never");
    }

    #[tokio::test]
    async fn each_channel_is_subscribed_once_and_given_up_when_it_has_left() {
        let (_, subscriber, channels, _) = node();
        let fake = FakeServer::start(|command| {
            let (verb, channel) = command.split_once(' ')?;
            let confirmed = verb.to_lowercase();
            Some(format!(">3\r\n+{confirmed}\r\n${}\r\n{channel}\r\n:1\r\n", channel.len()))
        })
        .await;
        let server = fake.server();
        let (pushes, mut pushed) = push_channel();
        let connection = Transport::open(&server, pushes).await.expect("a connection");
        let _receiver = channels.listen("c".to_owned(), 2, None);
        let mut subscribed = HashSet::from(["left".to_owned()]);
        for _ in 0..2 {
            let outcome =
                subscriber.subscribe(&server, &connection, &mut pushed, &mut subscribed).await;
            assert!(matches!(outcome, Subscribed::Done));
            assert_eq!(subscribed, HashSet::from(["c".to_owned()]));
            assert_eq!((fake.count("SSUBSCRIBE c"), fake.count("SUNSUBSCRIBE left")), (1, 1));
        }
    }
}
