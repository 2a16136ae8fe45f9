//! The channels that somebody waits for a message on.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use crate::store::{NotifyState, WakeupReceiver};

/// A channel that nobody waits for is kept this long: hot keys are waited for again and again.
const KEPT: Duration = Duration::from_secs(5);

/// The number of an ear: each hears a part of the channels.
pub(super) type EarId = u64;

#[derive(Debug, Default)]
pub(super) struct Channels {
    all: Mutex<HashMap<String, Channel>>,
    /// Counts what was added.
    added: watch::Sender<u64>,
}

#[derive(Debug)]
struct Channel {
    slot: u16,
    news: watch::Sender<NotifyState>,
    last_used: Instant,
    heard_by: Option<EarId>,
}

impl Channel {
    fn heard(&mut self, by: Option<EarId>) {
        self.heard_by = by;
        self.grown(|news| news.subscribed = by.is_some());
    }

    fn grown(&self, by: impl FnOnce(&mut NotifyState)) {
        self.news.send_modify(|news| {
            by(news);
            news.count += 1;
            news.grown_at = Some(Instant::now());
        });
    }
}

impl Channels {
    pub(super) fn listen(&self, name: String, slot: u16) -> WakeupReceiver {
        let mut all = self.all();
        let channel = all.entry(name).or_insert_with(|| {
            self.added.send_modify(|count| *count += 1);
            let news = watch::Sender::default();
            Channel { slot, news, last_used: Instant::now(), heard_by: None }
        });
        channel.last_used = Instant::now();
        WakeupReceiver(channel.news.subscribe())
    }

    pub(super) fn added(&self) -> watch::Receiver<u64> {
        self.added.subscribe()
    }

    /// What of `mine` is not in `asked`, and what of `asked` is not mine any more.
    pub(super) fn compare(
        &self,
        asked: &HashSet<String>,
        mine: impl Fn(u16) -> bool,
    ) -> (Vec<String>, Vec<String>) {
        let all = self.all();
        let wanted = |name: &String| all.get(name).is_some_and(|channel| mine(channel.slot));
        let missing =
            all.iter().filter(|(name, channel)| !asked.contains(*name) && mine(channel.slot));
        (
            missing.map(|(name, _)| name.clone()).collect(),
            asked.iter().filter(|name| !wanted(name)).cloned().collect(),
        )
    }

    /// From here on `ear` hears the channel.
    pub(super) fn heard(&self, name: &str, ear: EarId) {
        if let Some(channel) = self.all().get_mut(name) {
            channel.heard(Some(ear));
        }
    }

    /// Somebody waits for the channel, and `ear` does not hear it.
    pub(super) fn is_missed(&self, name: &str, ear: EarId) -> bool {
        self.all().get(name).is_some_and(|channel| channel.heard_by != Some(ear))
    }

    /// `ear` does not hear the channel any more, and whoever waits had better look.
    pub(super) fn lost(&self, name: &str, ear: EarId) {
        if let Some(channel) = self.all().get_mut(name)
            && channel.heard_by == Some(ear)
        {
            channel.heard(None);
        }
    }

    /// `ear` hears nothing any more.
    pub(super) fn lost_all(&self, ear: EarId) {
        for channel in self.all().values_mut() {
            if channel.heard_by == Some(ear) {
                channel.heard(None);
            }
        }
    }

    pub(super) fn message(&self, name: &str) {
        if let Some(channel) = self.all().get(name) {
            channel.grown(|_| {});
        }
    }

    /// Forgets what of `mine` nobody waits for.
    pub(super) fn forget_idle(&self, mine: impl Fn(u16) -> bool) {
        let now = Instant::now();
        self.all().retain(|_, channel| {
            if channel.news.receiver_count() > 0 {
                channel.last_used = now;
            }
            let idle = now.saturating_duration_since(channel.last_used) >= KEPT;
            !(mine(channel.slot) && idle)
        });
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Channel>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
