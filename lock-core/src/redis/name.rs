//! Who this client is, kept in Redis for whoever asks which instance holds a lock; and what this
//! Redis does that endangers locks.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use redis::{Cmd, Value};

use super::{
    RedisOptions, names,
    wire::{Failure, Wire},
};
use crate::owner::ClientId;

/// How long the name outlives its client, and how often it is refreshed.
const NAME_TTL: Duration = Duration::from_secs(60);
pub(super) const REFRESH: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct ClientName {
    key: String,
    text: String,
    /// For `CLIENT LIST`.
    pub(super) connection: String,
    warnings: Mutex<Vec<String>>,
}

impl ClientName {
    pub(super) fn new(options: &RedisOptions, client: &ClientId) -> Self {
        let service = options.service.clone().unwrap_or_else(program);
        let instance = options.instance.clone().unwrap_or_else(process);
        let (service, instance) = (clean(&service), clean(&instance));
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self {
            key: names::client(client.as_str()),
            text: format!(
                r#"{{"service":"{service}","instance":"{instance}","since_ms":{}}}"#,
                since.as_millis()
            ),
            connection: format!("lock-tower:{service}:{instance}"),
            warnings: Mutex::default(),
        }
    }

    /// Writes the name anew; also the sign of life on an idle connection.
    pub(super) async fn refresh(&self, wire: &Wire) {
        let ttl = u64::try_from(NAME_TTL.as_millis()).unwrap_or(u64::MAX);
        let set = redis::cmd("SET").arg(&self.key).arg(&self.text).arg("PX").arg(ttl).to_owned();
        if let Err(Failure::Answered(why)) = wire.query::<Value>(&set).await {
            // Not every user may write it, and locks work without.
            tracing::debug!(%why, "cannot write the client's name");
        }
        self.look_for_eviction(wire).await;
    }

    /// A Redis that evicts keys deletes locks; not every user may ask it.
    async fn look_for_eviction(&self, wire: &Wire) {
        let info = redis::cmd("INFO").arg("memory").to_owned();
        let Ok(info) = wire.query::<String>(&info).await else {
            return;
        };
        let policy = info.lines().find_map(|line| line.strip_prefix("maxmemory_policy:"));
        let Some(policy) = policy.filter(|policy| *policy != "noeviction") else {
            return;
        };
        let warning = format!(
            "maxmemory-policy is {policy}: Redis may delete locks that are held; set it to noeviction"
        );
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&warning) {
            tracing::warn!("{warning}");
            warnings.push(warning);
        }
    }

    pub(super) fn remove(&self) -> Cmd {
        redis::cmd("DEL").arg(&self.key).to_owned()
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn program() -> String {
    let program = std::env::args().next().unwrap_or_default();
    let program = std::path::Path::new(&program).file_stem();
    program.map_or_else(|| "unnamed".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Process numbers alone repeat from host to host, and in containers they are all 1.
fn process() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}:{}", std::process::id())
}

/// Redis allows no spaces in a connection's name, and quotes would have to be escaped.
fn clean(name: &str) -> String {
    let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '"' | '\\');
    name.chars().take(128).map(|c| if odd(c) { '-' } else { c }).collect()
}
