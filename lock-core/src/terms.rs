//! What acquisitions ask for, and what the hold that they share lives by.

use std::time::Duration;

use crate::call_site::CallSite;

/// What a hold lives by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) lease: Duration,
    pub(crate) renew: bool,
    pub(crate) max_hold: Option<Duration>,
}

/// What one acquisition has asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    pub(crate) lease: Option<Duration>,
    pub(crate) renew: Option<bool>,
    pub(crate) max_hold: Option<Duration>,
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
            max_waiters: None,
            fail_fast: false,
            site,
            in_order: true,
        }
    }

    /// The terms of an outermost acquisition.
    pub(crate) fn terms(&self, default_lease: Duration) -> Terms {
        Terms {
            lease: self.lease.unwrap_or(default_lease),
            renew: self.renew.unwrap_or(true),
            max_hold: self.max_hold,
        }
    }
}

impl Terms {
    /// The longest asked for wins; what was not asked changes nothing.
    pub(crate) fn longest(self, asked: &Asked) -> Self {
        Self {
            lease: asked.lease.map_or(self.lease, |lease| lease.max(self.lease)),
            renew: self.renew || asked.renew.unwrap_or(false),
            max_hold: self
                .max_hold
                .map(|most| asked.max_hold.map_or(most, |asked| asked.max(most))),
        }
    }
}
