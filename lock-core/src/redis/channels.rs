//! The channels that somebody waits for a message on.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use super::{
    cluster::slot_of,
    names::{self, GRANTED},
};
use crate::{
    FencingToken,
    backend::{News, Wakeups},
    grants::{Grant, GrantEar, Grants},
    owner::OwnerId,
};

/// A channel that nobody waits for is kept this long: hot keys are waited for again and again.
const KEPT: Duration = Duration::from_secs(5);

/// The number of an ear: each hears a part of the channels.
pub(super) type EarId = u64;

#[derive(Debug, Default)]
pub(super) struct Channels {
    all: Mutex<HashMap<String, Channel>>,
    /// Counts what was added.
    added: watch::Sender<u64>,
    grants: Arc<Grants>,
    /// Whether what is granted is heard.
    hears_grants: AtomicBool,
}

#[derive(Debug)]
struct Channel {
    slot: u16,
    news: watch::Sender<News>,
    last_used: Instant,
    heard_by: Option<EarId>,
}

impl Channel {
    fn heard(&mut self, by: Option<EarId>) {
        self.heard_by = by;
        self.grown(|news| news.subscribed = by.is_some());
    }

    fn grown(&self, by: impl FnOnce(&mut News)) {
        self.news.send_modify(|news| {
            by(news);
            news.count += 1;
            news.grown_at = Some(Instant::now());
        });
    }
}

impl Channels {
    pub(super) fn listen(&self, name: String, slot: u16) -> Wakeups {
        let mut all = self.all();
        let channel = all.entry(name).or_insert_with(|| {
            self.added.send_modify(|count| *count += 1);
            let news = watch::Sender::default();
            Channel { slot, news, last_used: Instant::now(), heard_by: None }
        });
        channel.last_used = Instant::now();
        Wakeups(channel.news.subscribe())
    }

    /// Where one waiter of a client hears that a release has granted it its lock.
    pub(super) fn listen_for_grant(&self, owner: &OwnerId, client: &str) -> GrantEar {
        let name = names::granted(client);
        let slot = slot_of(name.as_bytes());
        self.grants.listen(owner, self.listen(name, slot))
    }

    /// Whether what is granted is heard now.
    pub(super) fn hears_grants(&self) -> bool {
        self.hears_grants.load(Ordering::Relaxed)
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
            self.note(name, true);
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
            self.note(name, false);
        }
    }

    /// `ear` hears nothing any more.
    pub(super) fn lost_all(&self, ear: EarId) {
        for (name, channel) in self.all().iter_mut() {
            if channel.heard_by == Some(ear) {
                channel.heard(None);
                self.note(name, false);
            }
        }
    }

    pub(super) fn message(&self, name: &str, content: &[u8]) {
        if name.starts_with(GRANTED) {
            if let Some((owner, grant)) = granted(content) {
                self.grants.told(owner, grant);
            }
            return;
        }
        if let Some(channel) = self.all().get(name) {
            channel.grown(|_| {});
        }
    }

    fn note(&self, name: &str, heard: bool) {
        if name.starts_with(GRANTED) {
            self.hears_grants.store(heard, Ordering::Relaxed);
        }
    }

    /// Forgets what of `mine` nobody waits for.
    pub(super) fn forget_idle(&self, mine: impl Fn(u16) -> bool) {
        let now = Instant::now();
        self.all().retain(|name, channel| {
            if channel.news.receiver_count() > 0 {
                channel.last_used = now;
            }
            let idle = now.saturating_duration_since(channel.last_used) >= KEPT;
            let kept = !(mine(channel.slot) && idle);
            if !kept {
                self.note(name, false);
            }
            kept
        });
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Channel>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `owner ask token row`: see `shared/grant.lua`.
fn granted(content: &[u8]) -> Option<(&str, Grant)> {
    let mut parts = std::str::from_utf8(content).ok()?.split(' ');
    let (owner, ask) = (parts.next()?, parts.next()?.parse().ok()?);
    let token = FencingToken::new(parts.next()?.parse().ok()?);
    let row = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some((owner, Grant { ask, token, row }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_is_told_in_four_words() {
        let grant = Grant { ask: 2, token: FencingToken::new(9), row: 3 };
        assert_eq!(granted(b"u:1 2 9 3"), Some(("u:1", grant)));
        let none = ["", "u:1 2 9", "u:1 2 9 3 4", "u:1 x 9 3", "u:1 2 -9 3", "u:1 2 9 99999999999"];
        for text in none {
            assert_eq!(granted(text.as_bytes()), None, "{text}");
        }
        assert_eq!(granted(b"\xff 2 9 3"), None);
    }
}
