//! What a release tells the waiter to which it has given the lock, and what that waiter makes of it.

use lock_core::__private::{Kind, Mode};

use super::{
    deed::owners,
    names::{self, SYMBOLS},
    op::{TURNS, first_lease},
    setup::Setup,
    world::{Hold, World},
};

/// What the channels of grants begin with; a client's name follows.
pub(crate) const CHANNELS: &[u8] = b"lock_granted:";

/// A grant that is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct News {
    /// To whom.
    pub owner: u8,
    /// The number of the try that stood by.
    pub ask: u32,
    /// The fencing token.
    pub token: i64,
    /// How many were granted the lock so in a row.
    pub row: u32,
}

impl News {
    /// `owner ask token row`, on the channel of the owner's client.
    fn read(kind: Kind, channel: &[u8], message: &[u8]) -> Option<Self> {
        let words: Vec<&str> = std::str::from_utf8(message).ok()?.split(' ').collect();
        let [owner, ask, token, row] = words.as_slice() else { return None };
        let client = owner.rsplit_once(':')?.0;
        if channel != [CHANNELS, client.as_bytes()].concat() {
            return None;
        }
        let numbers = 0..u8::try_from(SYMBOLS.len()).ok()?;
        let number = numbers.into_iter().find(|it| names::owner(kind, *it) == owner.as_bytes())?;
        let (ask, token, row) = (ask.parse().ok()?, token.parse().ok()?, row.parse().ok()?);
        Some(Self { owner: number, ask, token, row })
    }

    /// Those among all that was published; `None`: what was told is no grant.
    pub(super) fn all(kind: Kind, told: &[(Vec<u8>, Vec<u8>)]) -> Option<Vec<Self>> {
        let grants = told.iter().filter(|(channel, _)| channel.starts_with(CHANNELS));
        grants.map(|(channel, message)| Self::read(kind, channel, message)).collect()
    }
}

impl Hold {
    /// Whether it takes this for what its last try was granted.
    fn takes(&self, setup: &Setup, news: News, now: i64) -> bool {
        let is_of_last = setup.believes_old_news || news.ask == self.asks;
        let in_time = |sent| now < sent + super::heard::believed(first_lease(self.asked.1));
        self.waits_for(news) && is_of_last && self.refused.is_some_and(in_time)
    }

    fn waits_for(&self, news: News) -> bool {
        self.asks() && self.owner == news.owner
    }

    fn granted_by_release(&mut self, news: News, sent: i64) {
        self.has(Mode::Write, 1);
        self.confirm(Mode::Write, first_lease(self.asked.1), sent);
        (self.in_line, self.taken, self.row) = (None, false, Some(news.row));
    }
}

impl World {
    /// These are under way from now on.
    pub(super) fn tell(&mut self, all: &[News]) {
        let count = self.clients.len();
        for news in all {
            self.highest = self.highest.max(news.token + i64::from(TURNS));
            let hears = (0..count).find(|at| owners(count, *at).contains(&news.owner));
            self.clients[hears.expect("BUG: each is a client's")].news.push(*news);
        }
    }

    /// A client hears the oldest of what it was told.
    pub(super) fn hear(&mut self, setup: &Setup, at: usize) -> Option<()> {
        let (now, client) = (self.now(), &mut self.clients[at]);
        let news = (!client.news.is_empty()).then(|| client.news.remove(0))?;
        if let Some(hold) = client.hold.as_mut().filter(|hold| hold.takes(setup, news, now)) {
            hold.granted_by_release(news, hold.refused?);
        }
        Some(())
    }

    /// What nobody will ever believe may as well have been heard.
    pub(super) fn forget_old_news(&mut self, setup: &Setup) {
        let now = self.now();
        for client in &mut self.clients {
            let hold = client.hold.as_ref();
            client.news.retain(|news| {
                hold.is_some_and(|hold| {
                    hold.takes(setup, *news, now)
                        || setup.believes_old_news && hold.waits_for(*news)
                })
            });
        }
    }
}
