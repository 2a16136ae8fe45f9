//! What acquisitions ask for, and what the hold that they share lives by.

use std::time::Duration;

use crate::{call_site::CallSite, settings::Settings};

/// What a hold lives by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) lease: Duration,
    pub(crate) renew: bool,
    pub(crate) max_hold: Option<Duration>,
    /// How many holds in a row one grant of the store may serve.
    pub(crate) turns: u32,
}

/// What one acquisition has asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    pub(crate) lease: Option<Duration>,
    pub(crate) renew: Option<bool>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) turns: Option<u32>,
    /// `None`: as many as the client says.
    pub(crate) max_waiters: Option<usize>,
    pub(crate) fail_fast: bool,
    pub(crate) site: CallSite,
    /// Whether the order in which it is asked for says anything.
    pub(crate) in_order: bool,
}

impl Asked {
    /// Nothing but what is usual.
    pub(crate) fn at(site: CallSite) -> Self {
        Self {
            lease: None,
            renew: None,
            max_hold: None,
            turns: None,
            max_waiters: None,
            fail_fast: false,
            site,
            in_order: true,
        }
    }

    /// The terms of an outermost acquisition.
    pub(crate) fn terms(&self, settings: &Settings) -> Terms {
        Terms {
            lease: self.lease.unwrap_or(settings.lease),
            renew: self.renew.unwrap_or(true),
            max_hold: self.max_hold,
            turns: self.turns.unwrap_or(settings.turns),
        }
    }
}

impl Terms {
    /// The longest asked for wins; what was not asked changes nothing.
    pub(crate) fn longest(self, asked: &Asked) -> Self {
        Self {
            lease: asked.lease.map_or(self.lease, |lease| lease.max(self.lease)),
            turns: self.turns,
            renew: self.renew || asked.renew.unwrap_or(false),
            max_hold: self
                .max_hold
                .map(|most| asked.max_hold.map_or(most, |asked| asked.max(most))),
        }
    }
}
