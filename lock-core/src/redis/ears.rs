//! Pub/sub: hears of releases, over a connection of its own.
//!
//! A message is a hint. Whatever is heard, a new subscription too, has every waiter of that channel
//! try again, and waiters also look by themselves.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redis::{PushInfo, PushKind, Value, aio::MultiplexedConnection};
use tokio::{
    sync::{Notify, mpsc, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::target::Target;
use crate::backend::{News, Wakeups};

const FIRST_BACKOFF: Duration = Duration::from_millis(20);
const SLOWEST_BACKOFF: Duration = Duration::from_secs(1);
/// A channel that nobody waits for is kept this long: hot keys are waited for again and again.
const KEPT: Duration = Duration::from_secs(5);
/// How often an idle connection is asked whether it still stands.
const TICK: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Ears {
    target: Arc<Target>,
    channels: Mutex<HashMap<String, Channel>>,
    added: Notify,
    closed: CancellationToken,
    /// The log has it already that subscribing is refused.
    told: AtomicBool,
}

#[derive(Debug)]
struct Channel {
    news: watch::Sender<News>,
    last_used: Instant,
}

impl Ears {
    pub(super) fn new(target: Arc<Target>) -> Self {
        Self {
            target,
            channels: Mutex::default(),
            added: Notify::new(),
            closed: CancellationToken::new(),
            told: AtomicBool::new(false),
        }
    }

    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    pub(super) fn listen(&self, channel: String) -> Wakeups {
        let mut channels = self.channels();
        let channel = channels.entry(channel).or_insert_with(|| {
            self.added.notify_one();
            Channel { news: watch::Sender::default(), last_used: Instant::now() }
        });
        channel.last_used = Instant::now();
        Wakeups(channel.news.subscribe())
    }

    /// Keeps a connection subscribed to every channel until this is closed.
    pub(super) async fn work(&self) {
        let mut backoff = FIRST_BACKOFF;
        while !self.closed.is_cancelled() {
            let (pushes, pushed) = mpsc::unbounded_channel();
            let opened = tokio::select! {
                () = self.closed.cancelled() => return,
                opened = self.target.open(pushes) => opened,
            };
            match opened {
                Ok(connection) => {
                    let started = Instant::now();
                    self.hear(connection, pushed).await;
                    self.tell_all();
                    if started.elapsed() > SLOWEST_BACKOFF {
                        backoff = FIRST_BACKOFF;
                    }
                }
                Err(why) => {
                    tracing::debug!(redis = %self.target.address, %why, "cannot subscribe");
                }
            }
            let _ = tokio::time::timeout(backoff, self.closed.cancelled()).await;
            backoff = (backoff * 2).min(SLOWEST_BACKOFF);
        }
    }

    /// Returns when the connection has ended or is of no more use.
    async fn hear(
        &self,
        mut connection: MultiplexedConnection,
        mut pushed: mpsc::UnboundedReceiver<PushInfo>,
    ) {
        if !self.subscribe(&mut connection).await {
            return;
        }
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                () = self.closed.cancelled() => return,
                push = pushed.recv() => match push {
                    Some(push) if push.kind != PushKind::Disconnection => self.pass_on(&push),
                    _ => return,
                },
                () = self.added.notified() => {
                    if !self.subscribe(&mut connection).await {
                        return;
                    }
                }
                _ = tick.tick() => {
                    if !self.forget_idle(&mut connection).await {
                        return;
                    }
                }
            }
        }
    }

    /// Subscribes to what is not subscribed yet; `false` when the connection does not answer.
    async fn subscribe(&self, connection: &mut MultiplexedConnection) -> bool {
        let missing: Vec<String> = {
            let channels = self.channels();
            let missing = channels.iter().filter(|(_, channel)| !channel.news.borrow().subscribed);
            missing.map(|(name, _)| name.clone()).collect()
        };
        if missing.is_empty() {
            return true;
        }
        let done =
            tokio::time::timeout(self.target.connect_timeout, connection.subscribe(&missing));
        match done.await {
            Ok(Ok(())) => {
                let channels = self.channels();
                for name in &missing {
                    if let Some(channel) = channels.get(name) {
                        channel.news.send_modify(|news| {
                            news.subscribed = true;
                            news.count += 1;
                        });
                    }
                }
                true
            }
            Ok(Err(error)) => {
                let told = self.told.swap(true, Ordering::Relaxed);
                if !told {
                    tracing::warn!(redis = %self.target.address, %error, "cannot subscribe: waiters poll");
                }
                // Not every refusal ends the connection, but a new one is the only remedy.
                tokio::time::sleep(SLOWEST_BACKOFF).await;
                false
            }
            Err(_) => false,
        }
    }

    fn pass_on(&self, push: &PushInfo) {
        let (PushKind::Message, Some(Value::BulkString(channel))) = (&push.kind, push.data.first())
        else {
            return;
        };
        let Ok(channel) = std::str::from_utf8(channel) else {
            return;
        };
        if let Some(channel) = self.channels().get(channel) {
            channel.news.send_modify(|news| news.count += 1);
        }
    }

    /// Unsubscribes from what nobody waits for; `false` when the connection does not answer.
    async fn forget_idle(&self, connection: &mut MultiplexedConnection) -> bool {
        let now = Instant::now();
        let mut idle = Vec::new();
        self.channels().retain(|name, channel| {
            if channel.news.receiver_count() > 0 {
                channel.last_used = now;
            }
            let keep = now.saturating_duration_since(channel.last_used) < KEPT;
            if !keep {
                idle.push(name.clone());
            }
            keep
        });
        let answered = async {
            if idle.is_empty() {
                redis::cmd("PING").query_async::<Value>(connection).await.map(drop)
            } else {
                connection.unsubscribe(&idle).await
            }
        };
        matches!(tokio::time::timeout(self.target.connect_timeout, answered).await, Ok(Ok(())))
    }

    /// The connection is gone: nothing is subscribed, and every waiter had better look.
    fn tell_all(&self) {
        for channel in self.channels().values() {
            channel.news.send_modify(|news| {
                news.subscribed = false;
                news.count += 1;
            });
        }
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<String, Channel>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
