//! What acquisitions ask for, and what the hold that they share lives by.

use std::time::Duration;

use crate::{settings::Settings, types::CallSite};

/// What a hold lives by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) lease: Duration,
    pub(crate) renew: bool,
    pub(crate) max_hold: Option<Duration>,
    /// How often one grant of the store may go on to the next waiter of this process.
    pub(crate) max_local_handoffs: u32,
    /// How many readers of this process may read under one hold of the store.
    pub(crate) max_shared_readers: u32,
}

/// What one acquisition has asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    pub(crate) lease: Option<Duration>,
    pub(crate) renew: Option<bool>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) max_local_handoffs: Option<u32>,
    pub(crate) max_shared_readers: Option<u32>,
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
            max_local_handoffs: None,
            max_shared_readers: None,
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
            max_local_handoffs: self.max_local_handoffs.unwrap_or(settings.max_local_handoffs),
            max_shared_readers: self.max_shared_readers.unwrap_or(settings.max_shared_readers),
        }
    }
}
