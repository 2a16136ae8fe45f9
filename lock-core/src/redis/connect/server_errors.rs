//! The meaning of a server's errors for the user that connects to it.

use std::{error::Error as StdError, sync::Arc};

use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::{
    ConnectError,
    dial::{DialError, Stream},
    endpoint::Endpoint,
    greeting::databases,
    server::Server,
    tls,
};
use crate::redis::protocol::{ReplyReader, reason};

const ONE_NODE: &str =
    "it is one node of a cluster: connect with redis+cluster:// instead of redis://";
const NO_SENTINEL: &str = "it is a Redis server, and not a Sentinel: name the Sentinels' addresses (port 26379 by \
     default), or connect to one server with redis:// instead of redis+sentinel://";

/// Commands that a client sends before the script that finds missing rights, and those that run it.
/// Before Redis 7 they have no subcommands.
const BEFORE_SCRIPTS: [&str; 6] =
    ["select", "cluster|slots", "cluster", "script|load", "script", "evalsha"];

/// The rights of a connection that no script needs: to be woken, to be found by operators, to be ended.
const BESIDE_SCRIPTS: [&str; 9] = [
    "+hello",
    "+ping",
    "+info",
    "+subscribe",
    "+unsubscribe",
    "+client|setname",
    "+client|info",
    "+client|kill",
    "~lock_client:*",
];

impl Server {
    pub(super) fn dial_error(&self, error: DialError) -> ConnectError {
        match error {
            DialError::Refused(error) => ConnectError::Unreachable {
                store: "Redis",
                address: self.address.clone(),
                reason: self.of_address(error.to_string()),
                source: Some(Arc::new(error)),
            },
            DialError::Handshake(error) => {
                let why = tls::explain(&error).unwrap_or_else(|| error.to_string());
                self.tls_failure(why, Some(Arc::new(error)))
            }
        }
    }

    /// Why an address is not reached, with where it comes from.
    fn of_address(&self, reason: String) -> String {
        match &self.announced_by {
            Some(announcer) => format!(
                "{reason} ({announcer} announces this address: have it announce one that this host \
                 reaches, as by `cluster-announce-ip` or `replica-announce-ip`, or map it with \
                 LockClientBuilder::map_address)"
            ),
            None => reason,
        }
    }

    /// An error before the connection was set up.
    pub(super) async fn greeting_error(
        &self,
        error: RedisError,
        stream: &mut Box<dyn Stream>,
        reader: &mut ReplyReader,
    ) -> ConnectError {
        // A refused client certificate shows when the first answer is read.
        if let Some(why) = tls::explain(&error) {
            return self.tls_failure(why, Some(Arc::new(error)));
        }
        if error.to_string().contains("DB index is out of range") {
            let has = match databases(stream, reader).await {
                Some(databases) => format!("it has {databases}, numbered from 0"),
                None => "it has as many as its setting `databases`, 16 by default, numbered from 0"
                    .to_owned(),
            };
            return self
                .unsupported_error(&format!("it has no database {}: {has}", self.login.db()));
        }
        let plain = self.tls.is_none() && matches!(self.endpoint, Endpoint::Tcp(..));
        match error.kind() {
            ErrorKind::Parse => {
                let begins = reader.beginning();
                // As a record of TLS begins that has an alert.
                self.unsupported_error(&if plain && begins.starts_with("\\x15\\x03") {
                    "it speaks TLS at this port: use rediss://".to_owned()
                } else {
                    format!("another service is at this port: its answer begins with \"{begins}\"")
                })
            }
            _ if plain && (error.is_connection_dropped() || error.is_unrecoverable_error()) => {
                ConnectError::Unreachable {
                    store: "Redis",
                    address: self.address.clone(),
                    reason: format!(
                        "it ended the connection before it answered ({error}); if this port speaks \
                         TLS, use rediss://"
                    ),
                    source: Some(Arc::new(error)),
                }
            }
            _ => self.server_error(error),
        }
    }

    pub(super) fn tls_failure(
        &self,
        reason: String,
        source: Option<Arc<dyn StdError + Send + Sync>>,
    ) -> ConnectError {
        ConnectError::Tls { address: self.address.clone(), reason, source }
    }

    pub(crate) fn timeout_error(&self) -> ConnectError {
        self.unreachable_error(format!("no answer within {:?}", self.connect_timeout))
    }

    pub(crate) fn unreachable_error(&self, reason: String) -> ConnectError {
        ConnectError::Unreachable {
            store: "Redis",
            address: self.address.clone(),
            reason: self.of_address(reason),
            source: None,
        }
    }

    pub(crate) fn unsupported_error(&self, reason: &str) -> ConnectError {
        ConnectError::Unsuitable { address: self.address.clone(), reason: reason.to_owned() }
    }

    /// The meaning of an error while connecting.
    pub(crate) fn server_error(&self, error: RedisError) -> ConnectError {
        let address = self.address.clone();
        let text = reason(&error);
        if error.code() == Some("NOPERM")
            && let Some(command) = text.split('\'').nth(1)
            // It is a key that the user may not use.
            && command != ".."
        {
            let mut rights = vec![format!("+{command}")];
            // The other rights of a user that may run no script are not known.
            if BEFORE_SCRIPTS.contains(&command) {
                let all = self.wire.rights().into_iter().chain(BESIDE_SCRIPTS.map(str::to_owned));
                rights.extend(all.filter(|right| *right != format!("+{command}")));
                rights.extend(self.waits.then(|| "+wait".to_owned()));
                rights.extend(self.in_cluster.then(|| "+cluster|slots".to_owned()));
            }
            let user = self.user().to_owned();
            return ConnectError::MissingRights { address, user, rights };
        }
        let unreachable = |reason: String| ConnectError::Unreachable {
            store: "Redis",
            address: address.clone(),
            reason,
            source: Some(Arc::new(error.clone())),
        };
        let has = |part: &str| text.contains(part);
        match error.kind() {
            _ if ["WRONGPASS", "NOAUTH", "invalid password"].into_iter().any(has) => {
                ConnectError::Refused { store: "Redis", address, reason: text }
            }
            _ if has("max number of clients") => unreachable(
                "it refuses further connections, because `maxclients` connections are open: raise \
                 it, or find in CLIENT LIST which clients keep too many"
                    .to_owned(),
            ),
            _ if has("protected mode") => unreachable(
                "it is in protected mode, which accepts only connections from its own host: set a \
                 password there, or `protected-mode no` if only trusted hosts can reach it"
                    .to_owned(),
            ),
            ErrorKind::Server(
                ServerErrorKind::Moved | ServerErrorKind::Ask | ServerErrorKind::CrossSlot,
            ) => self.unsupported_error(ONE_NODE),
            _ if has("not allowed in cluster mode") => self.unsupported_error(ONE_NODE),
            // Both spellings of the error, with the command in the letters in which it was sent.
            _ if has("unknown command") && has("SENTINEL") => self.unsupported_error(NO_SENTINEL),
            ErrorKind::RESP3NotSupported => self.unsupported_error(
                "it does not know HELLO, the first command of RESP3: it is older than Redis 6, \
                 HELLO is renamed there, or a proxy in between does not forward it; connect to \
                 Redis itself",
            ),
            ErrorKind::Server(
                ServerErrorKind::BusyLoading
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ClusterDown,
            )
            | ErrorKind::Io => unreachable(text),
            _ if has("unknown command") && has("SCRIPT") => self.unsupported_error(&format!(
                "it does not know SCRIPT ({text}): if it is a Sentinel, connect with \
                 redis+sentinel://host:port/name; otherwise SCRIPT is renamed or disabled there"
            )),
            _ => self.unsupported_error(&format!(
                "it cannot run the lock scripts: {text}; locks need a primary of Redis 6.2 or later that \
                 allows EVALSHA, EVAL and SCRIPT LOAD"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{
        super::fake_server::{server_at, server_error},
        *,
    };

    fn tcp() -> Server {
        server_at(Endpoint::Tcp("h".to_owned(), 1))
    }

    #[test]
    fn an_error_of_the_server_names_what_to_do() {
        for (reply, expected) in [
            ("NOPERM User x has no permissions to run the 'eval' command", "MissingRights"),
            ("NOPERM No permissions to access a key", "Unsuitable"),
            ("NOPERM User x has no permissions to access the 'get' key", "Unsuitable"),
            ("NOPERM User x has no permissions to access the 'k:7' key", "Unsuitable"),
            ("WRONGPASS invalid username-password pair", "Refused"),
            ("NOAUTH HELLO must be called", "Refused"),
            ("ERR invalid password", "Refused"),
            ("MOVED 7 h:2", "redis+cluster://"),
            ("ASK 7 h:2", "redis+cluster://"),
            ("CROSSSLOT Keys in request", "redis+cluster://"),
            ("LOADING Redis is loading", "Unreachable"),
            ("MASTERDOWN Link is down", "Unreachable"),
            ("CLUSTERDOWN The cluster is down", "Unreachable"),
            ("ERR unknown command `SENTINEL`, with args beginning with:", "not a Sentinel"),
            ("ERR unknown command 'SCRIPT', with args beginning with:", "redis+sentinel://"),
            ("ERR unknown command 'EVAL'", "Unsuitable"),
            ("ERR unknown command 'SENTINEL', with args beginning with: ", "not a Sentinel"),
        ] {
            let shown = format!("{:?}", tcp().server_error(server_error(reply)));
            assert!(shown.contains(expected), "{reply}: {shown}");
            assert!(shown.contains("h:1"), "without its address: {shown}");
        }
        let old = RedisError::from((ErrorKind::RESP3NotSupported, "HELLO is unknown"));
        let shown = tcp().server_error(old).to_string();
        assert!(shown.contains("RESP3") && shown.contains("proxy"), "{shown}");
    }

    #[tokio::test]
    async fn only_a_port_that_ends_the_connection_may_speak_tls() {
        let ended = || RedisError::from(io::Error::from(io::ErrorKind::UnexpectedEof));
        let hints = async |server: Server, error| {
            let (near, _far) = tokio::io::duplex(64);
            let (mut stream, mut reader) =
                (Box::new(near) as Box<dyn Stream>, ReplyReader::default());
            let error = server.greeting_error(error, &mut stream, &mut reader).await;
            error.to_string().contains("rediss://")
        };
        assert!(hints(tcp(), ended()).await);
        assert!(!hints(tcp(), server_error("LOADING Redis is loading")).await);
        assert!(!hints(server_at(Endpoint::Unix("/redis".into())), ended()).await);
    }

    #[test]
    fn another_server_has_its_own_address() {
        let other = tcp().with_endpoint(Endpoint::Tcp("other".to_owned(), 2));
        assert_eq!(format!("{other:?}"), "\"other:2\"");
    }
}
