//! The client's name, kept in Redis for operators that look up which instance holds a lock.

use std::time::{Duration, SystemTime};

use lock_store::{ClientId, ClientInfo, connect::client_name};
use redis::{Cmd, Value};

use crate::redis::{connect::RedisOptions, protocol::slot_of};

/// How long the name outlives its client, and how often it is refreshed.
const NAME_TTL: Duration = Duration::from_secs(60);
pub(crate) const REFRESH: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct ClientName {
    pub(crate) key: String,
    text: String,
    /// For `CLIENT LIST`.
    pub(crate) connection: String,
}

impl ClientName {
    pub(crate) fn new(options: &RedisOptions, client: &ClientId) -> Self {
        let (service, instance) = client_name::of(&options.common);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self {
            key: key_of(client.as_str()),
            text: format!(
                r#"{{"service":"{service}","instance":"{instance}","since_ms":{}}}"#,
                since.as_millis()
            ),
            connection: visible(&format!("lock-tower:{service}:{instance}")),
        }
    }

    /// The command that writes the name, with its time to live.
    pub(crate) fn write(&self) -> Cmd {
        let ttl = u64::try_from(NAME_TTL.as_millis()).unwrap_or(u64::MAX);
        redis::cmd("SET").arg(&self.key).arg(&self.text).arg("PX").arg(ttl).to_owned()
    }

    pub(crate) fn remove(&self) -> Cmd {
        redis::cmd("DEL").arg(&self.key).to_owned()
    }
}

fn key_of(client: &str) -> String {
    format!("lock_client:{client}")
}

/// The command that reads a client's name, and the slot where it runs.
pub(crate) fn of(client: &str) -> (u16, Cmd) {
    let key = key_of(client);
    (slot_of(key.as_bytes()), redis::cmd("GET").arg(key).to_owned())
}

/// Parses the text that a client writes; [`clean`] removes everything that would need escaping.
pub(crate) fn parse(name: &Value) -> Option<ClientInfo> {
    let Value::BulkString(text) = name else { return None };
    let text = std::str::from_utf8(text).ok()?;
    let field = |name: &str| {
        let (_, rest) = text.split_once(&format!(r#""{name}":""#))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    Some(ClientInfo::new(field("service")?, field("instance")?))
}

/// Redis refuses a connection's name with anything else in it.
fn visible(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_graphic() { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lock_store::connect::ConnectOptions;

    fn name(service: &str, instance: &str) -> ClientName {
        let (service, instance) = (Some(service.to_owned()), Some(instance.to_owned()));
        let common = ConnectOptions { service, instance, ..ConnectOptions::default() };
        let options = RedisOptions { common, ..RedisOptions::default() };
        ClientName::new(&options, &ClientId::random())
    }

    #[test]
    fn connections_have_a_name_that_redis_allows() {
        let name = name("Größe 1", "a\"b");
        assert_eq!(name.connection, "lock-tower:Gr--e-1:a-b");
        assert!(name.text.contains(r#""service":"Größe-1""#), "{}", name.text);
    }
    #[test]
    fn a_name_is_read_as_it_is_written() {
        let name = name("orders", "a-1");
        let read = parse(&Value::BulkString(name.text.clone().into())).expect("a name");
        assert_eq!((&*read.service, &*read.instance), ("orders", "a-1"));
        assert!(parse(&Value::Nil).is_none());
    }
}
