//! Warnings about a connected server that endangers locks, for as long as it does.

use std::collections::BTreeMap;

use lock_store::runtime::Mutex;

use super::{acl::MissingRights, multiplexed::Connection};
use crate::redis::connect::Server;

/// The dangers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Danger {
    Eviction,
    Rights,
}

/// At most one warning for each danger; removed once the danger is over.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<BTreeMap<Danger, String>>);

impl Warnings {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().values().cloned().collect()
    }

    /// Warns if Redis may evict locks. Not every user may read the policy.
    pub(crate) async fn look_for_eviction(&self, connection: &Connection, server: &Server) {
        let info = redis::cmd("INFO").arg("memory").to_owned();
        let Ok(info) = connection.query::<String>(&info).await else {
            return;
        };
        let Some(policy) = info.lines().find_map(|line| line.strip_prefix("maxmemory_policy:"))
        else {
            return;
        };
        let evicts = (policy != "noeviction").then(|| {
            format!(
                "maxmemory-policy is {policy}: Redis may delete locks that are held; set it to \
                 noeviction"
            )
        });
        self.set(Danger::Eviction, server, evicts);
    }

    /// Checks the rights again: they may be granted and revoked during a connection.
    pub(crate) async fn look_at_rights(&self, connection: &Connection, server: &Server) {
        if let Ok(missing) = MissingRights::find(connection, server).await {
            self.lack(server, &missing);
        }
    }

    pub(crate) fn lack(&self, server: &Server, missing: &MissingRights) {
        self.set(Danger::Rights, server, missing.warning(server.user()));
    }

    /// Logs new warnings, and those that are over.
    fn set(&self, danger: Danger, server: &Server, warning: Option<String>) {
        let mut warnings = self.0.lock();
        let before = match &warning {
            Some(warning) => warnings.insert(danger, warning.clone()),
            None => warnings.remove(&danger),
        };
        match (warning, before) {
            (Some(now), before) if before.as_ref() != Some(&now) => {
                tracing::warn!(redis = %server.address, "{now}");
            }
            (None, Some(over)) => tracing::info!(redis = %server.address, "mended: {over}"),
            _ => {}
        }
    }
}
