use std::time::Duration;

use http::request::Parts;
use lock_core::{LockClient, LockKey};

use crate::{
    LockMode, context::RequestContext, hold_times::HoldTimes, key::KeySource, name::Name,
    outcome::Refusal, slot::Slot, under_lock::Asked,
};

/// What one layer does for each request; shared by all services that it wraps.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub(super) client: LockClient,
    pub(super) key: KeySource,
    /// The key's, if it is one.
    template: Option<Name>,
    pub(super) name: Name,
    pub(super) mode: LockMode,
    pub(super) wait: Option<Duration>,
    pub(super) lease: Option<Duration>,
    pub(super) max_hold: Option<Duration>,
    pub(super) renew: bool,
    holds: HoldTimes,
}

impl Policy {
    pub(super) fn new(client: LockClient, key: KeySource) -> Self {
        let template = key.template().map(|text| Name::from(text.to_owned()));
        Self {
            client,
            key,
            name: template.clone().unwrap_or(Name::Fixed("request")),
            template,
            mode: LockMode::default(),
            wait: None,
            lease: None,
            max_hold: None,
            renew: true,
            holds: HoldTimes::default(),
        }
    }

    /// The lock for this request.
    pub(super) async fn asked(
        &self,
        context: &RequestContext,
        parts: &mut Parts,
    ) -> Result<Asked<'_>, Refusal> {
        let mode = self.mode.of(&parts.method);
        let key: LockKey = self
            .key
            .key(parts)
            .await
            .map_err(|bad| Refusal::bad_key(&context.caller, bad).of_lock(&self.name, mode))?;
        let mut acquire = self.client.lock(mode, &key).renew(self.renew);
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
            template: self.template.as_ref(),
            key,
            mode,
            waits: self.wait != Some(Duration::ZERO),
            acquire,
            holds: &self.holds,
            slot: Slot::default(),
        })
    }
}
