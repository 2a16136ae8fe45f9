//! What acquisitions ask for, and what the hold that they share lives by.

use std::time::Duration;

/// What a hold lives by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) lease: Duration,
    pub(crate) renew: bool,
    pub(crate) max_hold: Option<Duration>,
}

/// What one acquisition has asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    pub(crate) lease: Option<Duration>,
    pub(crate) renew: Option<bool>,
    pub(crate) max_hold: Option<Duration>,
}

impl Asked {
    /// The terms of an outermost acquisition.
    pub(crate) fn terms(self, default_lease: Duration) -> Terms {
        Terms {
            lease: self.lease.unwrap_or(default_lease),
            renew: self.renew.unwrap_or(true),
            max_hold: self.max_hold,
        }
    }
}

impl Terms {
    /// The longest asked for wins; what was not asked changes nothing.
    pub(crate) fn longest(self, asked: Asked) -> Self {
        Self {
            lease: asked.lease.map_or(self.lease, |lease| lease.max(self.lease)),
            renew: self.renew || asked.renew.unwrap_or(false),
            max_hold: self
                .max_hold
                .map(|most| asked.max_hold.map_or(most, |asked| asked.max(most))),
        }
    }
}
