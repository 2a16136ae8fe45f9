use std::time::Duration;

use http::request::Parts;
use lock_core::{__private::all_of, Kind, LockClient};

use crate::{
    LockMode, context::RequestContext, hold_times::HoldTimes, key::KeySource, name::Name,
    outcome::Refusal, slot::Slot, under_lock::Asked,
};

/// What one layer does for each request; shared by all services that it wraps.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub(super) client: LockClient,
    pub(super) keys: KeySource,
    pub(super) name: Name,
    pub(super) kind: Kind,
    pub(super) mode: LockMode,
    pub(super) wait: Option<Duration>,
    pub(super) lease: Option<Duration>,
    pub(super) max_hold: Option<Duration>,
    pub(super) renew: bool,
    holds: HoldTimes,
}

impl Policy {
    pub(super) fn new(client: LockClient, keys: KeySource) -> Self {
        Self {
            client,
            name: keys.templates().map_or(Name::Fixed("request"), Name::from),
            keys,
            kind: Kind::default(),
            mode: LockMode::default(),
            wait: None,
            lease: None,
            max_hold: None,
            renew: true,
            holds: HoldTimes::default(),
        }
    }

    /// The locks for this request.
    pub(super) async fn asked(
        &self,
        context: &RequestContext,
        parts: &mut Parts,
    ) -> Result<Asked<'_>, Refusal> {
        let kind = self.kind;
        let mode = self.mode.on(kind, &parts.method);
        let keys = self.keys.keys(parts).await.map_err(|bad| {
            Refusal::bad_key(&context.caller, bad).of_lock(&self.name, kind, mode)
        })?;
        let mut acquire = all_of(&self.client, kind, mode, keys.iter().map(|key| &key.key));
        acquire = acquire.renew(self.renew);
        if let Some(wait) = self.wait {
            acquire = acquire.wait(wait);
        }
        if let Some(lease) = self.lease {
            acquire = acquire.lease(lease);
        }
        if let Some(max_hold) = self.max_hold {
            acquire = acquire.max_hold(max_hold);
        }
        Ok(Asked {
            name: &self.name,
            keys,
            kind,
            mode,
            waits: self.wait != Some(Duration::ZERO),
            acquire,
            holds: &self.holds,
            slot: Slot::default(),
        })
    }
}
