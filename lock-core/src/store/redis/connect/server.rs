//! One server: how to open a connection to it, and how its errors are reported.

use std::{
    error::Error as StdError,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redis::{
    Cmd, ErrorKind, FromRedisValue, PushInfo, RedisConnectionInfo, RedisError, RedisResult,
    ServerErrorKind, Value,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc,
};

use super::{
    ConnectError,
    dial::{DialError, Stream, dial},
    endpoint::Endpoint,
    options::RedisOptions,
    tls::{self, Connector},
    transport::{Transport, push_channel},
};
use crate::{
    store::redis::protocol::{Malformed, Packed, ReplyReader, Wire},
    types::Observer,
};

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    /// Host and port, or the socket's path: safe to print.
    pub(crate) address: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) command_timeout: Duration,
    pub(crate) in_cluster: bool,
    pub(crate) wire: Arc<dyn Wire>,
    /// Whether the user must have every right that the scripts need.
    pub(crate) check_rights: bool,
    /// Whether grants wait for replicas.
    pub(crate) waits: bool,
    pub(crate) observer: Observer,
    tls: Option<Connector>,
    login: RedisConnectionInfo,
    /// The name in `CLIENT LIST`.
    connection_name: String,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(f)
    }
}

impl Server {
    pub(crate) fn new(
        endpoint: Endpoint,
        login: &RedisConnectionInfo,
        tls: Option<Connector>,
        options: &RedisOptions,
        wire: &Arc<dyn Wire>,
        name: &str,
    ) -> Self {
        Self {
            address: endpoint.to_string(),
            endpoint,
            connect_timeout: options.common.connect_timeout,
            command_timeout: options.common.command_timeout,
            in_cluster: false,
            wire: Arc::clone(wire),
            check_rights: options.check_rights,
            waits: options.replicas.is_some(),
            observer: options.common.observer.clone(),
            tls,
            login: login.clone(),
            connection_name: name.to_owned(),
        }
    }

    /// The same server as a node of a cluster.
    pub(crate) fn in_cluster(self) -> Self {
        Self { in_cluster: true, ..self }
    }

    /// Another server that is reached in the same way.
    pub(crate) fn with_endpoint(&self, endpoint: Endpoint) -> Self {
        Self { address: endpoint.to_string(), endpoint, ..self.clone() }
    }

    /// The same server for another user.
    pub(crate) fn with_login(&self, login: &RedisConnectionInfo) -> Self {
        Self { login: login.clone(), ..self.clone() }
    }

    /// Opens a connection. The receiver of its pushes learns of its end, too.
    pub(crate) async fn open(
        &self,
        pushes: mpsc::Sender<PushInfo>,
    ) -> Result<Transport, ConnectError> {
        let reached = AtomicBool::new(false);
        let opened = async {
            let stream = dial(&self.endpoint, self.tls.as_ref(), || {
                reached.store(true, Ordering::Relaxed);
            });
            let mut stream = stream.await.map_err(|error| self.dial_error(error))?;
            let mut reader = ReplyReader::default();
            let greeted = greet(&mut stream, &mut reader, &self.login).await;
            greeted.map_err(|error| self.handshake_error(error))?;
            let transport = Transport::start(stream, reader, pushes, self.command_timeout);
            // The name only helps operators that read CLIENT LIST; not every user may set it.
            let name = redis::cmd("CLIENT").arg("SETNAME").arg(&self.connection_name).to_owned();
            let _: RedisResult<()> = transport.query(&name).await;
            Ok(transport)
        };
        match tokio::time::timeout(self.connect_timeout, opened).await {
            Ok(opened) => opened,
            Err(_) if reached.load(Ordering::Relaxed) && self.tls.is_some() => Err(self
                .tls_failure(
                    format!(
                        "no answer within {:?}; does this port speak TLS?",
                        self.connect_timeout
                    ),
                    None,
                )),
            Err(_) => Err(self.timeout_error()),
        }
    }

    /// Opens a connection for one command, and closes it.
    pub(crate) async fn query_once<T: FromRedisValue>(
        &self,
        command: &Cmd,
    ) -> Result<RedisResult<T>, ConnectError> {
        let (pushes, _pushed) = push_channel();
        let transport = self.open(pushes).await?;
        let answer = tokio::time::timeout(self.connect_timeout, transport.query(command)).await;
        answer.map_err(|_| self.timeout_error())
    }

    fn dial_error(&self, error: DialError) -> ConnectError {
        match error {
            DialError::Refused(error) => ConnectError::Unreachable {
                store: "Redis",
                address: self.address.clone(),
                reason: error.to_string(),
                source: Some(Arc::new(error)),
            },
            DialError::Handshake(error) => {
                let why = tls::explain(&error).unwrap_or_else(|| error.to_string());
                self.tls_failure(why, Some(Arc::new(error)))
            }
        }
    }

    /// An error before the connection was set up.
    fn handshake_error(&self, error: RedisError) -> ConnectError {
        // A refused client certificate shows when the first answer is read.
        if let Some(why) = tls::explain(&error) {
            return self.tls_failure(why, Some(Arc::new(error)));
        }
        let cut = error.is_connection_dropped() || error.is_unrecoverable_error();
        if cut && self.tls.is_none() && matches!(self.endpoint, Endpoint::Tcp(..)) {
            return ConnectError::Unreachable {
                store: "Redis",
                address: self.address.clone(),
                reason: format!(
                    "it ended the connection before it answered ({error}); if this port speaks \
                     TLS, use rediss://"
                ),
                source: Some(Arc::new(error)),
            };
        }
        self.server_error(error)
    }

    fn tls_failure(
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
            reason,
            source: None,
        }
    }

    pub(crate) fn unsupported_error(&self, reason: &str) -> ConnectError {
        ConnectError::Unsuitable { address: self.address.clone(), reason: reason.to_owned() }
    }

    /// What an error while connecting means to the user.
    pub(crate) fn server_error(&self, error: RedisError) -> ConnectError {
        let address = self.address.clone();
        let text = reason(&error);
        if error.code() == Some("NOPERM")
            && let Some(command) = text.split('\'').nth(1)
        {
            return ConnectError::MissingRights { address, rights: vec![format!("+{command}")] };
        }
        let credentials = ["WRONGPASS", "NOAUTH", "invalid password"];
        match error.kind() {
            _ if credentials.iter().any(|word| text.contains(word)) => {
                ConnectError::Refused { store: "Redis", address, reason: text }
            }
            ErrorKind::Server(
                ServerErrorKind::Moved | ServerErrorKind::Ask | ServerErrorKind::CrossSlot,
            ) => self.unsupported_error(
                "it is one node of a cluster: connect with redis+cluster:// instead of redis://",
            ),
            ErrorKind::RESP3NotSupported => self.unsupported_error("it is older than Redis 6"),
            ErrorKind::Server(
                ServerErrorKind::BusyLoading
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ClusterDown,
            )
            | ErrorKind::Io => ConnectError::Unreachable {
                store: "Redis",
                address,
                reason: text,
                source: Some(Arc::new(error)),
            },
            _ => self.unsupported_error(&text),
        }
    }
}

/// Logs in and chooses protocol and database.
async fn greet(
    stream: &mut Box<dyn Stream>,
    reader: &mut ReplyReader,
    login: &RedisConnectionInfo,
) -> RedisResult<()> {
    let mut hello = redis::cmd("HELLO");
    hello.arg("3");
    if let Some(password) = login.password() {
        hello.arg("AUTH").arg(login.username().unwrap_or("default")).arg(password);
    }
    let mut commands = Packed::from(&hello);
    if login.db() != 0 {
        commands.append(&Packed::from(&*redis::cmd("SELECT").arg(login.db())));
    }
    stream.write_all(&commands.bytes).await?;
    stream.flush().await?;
    for number in 0..commands.count {
        let reply = read_reply(stream, reader).await?;
        if let Err(error) = reply.extract_error() {
            // As Redis before 6 words it. On later ones HELLO may be disabled or renamed.
            let is_old = number == 0
                && error.detail().is_some_and(|why| why.starts_with("unknown command `HELLO`"));
            let too_old = (ErrorKind::RESP3NotSupported, "HELLO is unknown");
            return Err(if is_old { too_old.into() } else { error });
        }
    }
    Ok(())
}

async fn read_reply(stream: &mut Box<dyn Stream>, reader: &mut ReplyReader) -> RedisResult<Value> {
    loop {
        let strange = |why: Malformed| {
            (ErrorKind::Parse, "it does not answer as Redis does", why.to_string())
        };
        if let Some(reply) = reader.next().map_err(strange)? {
            return Ok(reply);
        }
        match stream.read(reader.room()).await? {
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            length => reader.arrived(length),
        }
    }
}

/// An error in one line, without the arguments of a command that the server does not know: those of
/// HELLO are user and password. The redis crate itself keeps them out of its errors.
pub(crate) fn reason(error: &RedisError) -> String {
    let text = error.to_string();
    match text.split_once(", with args beginning with") {
        Some((unknown, _)) => unknown.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
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
            ("WRONGPASS invalid username-password pair", "Refused"),
            ("NOAUTH HELLO must be called", "Refused"),
            ("ERR invalid password", "Refused"),
            ("MOVED 7 h:2", "redis+cluster://"),
            ("ASK 7 h:2", "redis+cluster://"),
            ("CROSSSLOT Keys in request", "redis+cluster://"),
            ("LOADING Redis is loading", "Unreachable"),
            ("MASTERDOWN Link is down", "Unreachable"),
            ("CLUSTERDOWN The cluster is down", "Unreachable"),
            ("ERR unknown command 'EVAL'", "Unsuitable"),
        ] {
            let shown = format!("{:?}", tcp().server_error(server_error(reply)));
            assert!(shown.contains(expected), "{reply}: {shown}");
            assert!(shown.contains("h:1"), "without its address: {shown}");
        }
        let old = RedisError::from((ErrorKind::RESP3NotSupported, "HELLO is unknown"));
        let shown = tcp().server_error(old).to_string();
        assert!(shown.contains("older than Redis 6"), "{shown}");
    }

    #[test]
    fn only_a_port_that_ends_the_connection_may_speak_tls() {
        let ended = || RedisError::from(io::Error::from(io::ErrorKind::UnexpectedEof));
        let hints =
            |server: Server, error| server.handshake_error(error).to_string().contains("rediss://");
        assert!(hints(tcp(), ended()));
        assert!(!hints(tcp(), server_error("LOADING Redis is loading")));
        assert!(!hints(server_at(Endpoint::Unix("/redis".into())), ended()));
    }

    #[test]
    fn another_server_has_its_own_address() {
        let other = tcp().with_endpoint(Endpoint::Tcp("other".to_owned(), 2));
        assert_eq!(format!("{other:?}"), "\"other:2\"");
    }

    /// Greets a server that answers so.
    async fn greeted(login: &RedisConnectionInfo, replies: &str) -> RedisResult<()> {
        let (near, mut far) = tokio::io::duplex(4_096);
        far.write_all(replies.as_bytes()).await.expect("room");
        let mut stream: Box<dyn Stream> = Box::new(near);
        greet(&mut stream, &mut ReplyReader::default(), login).await
    }

    #[tokio::test]
    async fn only_an_unknown_hello_means_that_redis_is_old() {
        let login = RedisConnectionInfo::default().set_db(1);
        let unknown = "-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n+OK\r\n";
        let old = greeted(&login, unknown).await.expect_err("refused");
        assert_eq!(old.kind(), ErrorKind::RESP3NotSupported);
        let unsure = greeted(&login, "+OK\r\n-ERR unknown command `HELLO`\r\n").await;
        assert_ne!(unsure.expect_err("refused").kind(), ErrorKind::RESP3NotSupported);
        let disabled = greeted(&login, "-ERR unknown command 'HELLO'\r\n+OK\r\n").await;
        assert_ne!(disabled.expect_err("refused").kind(), ErrorKind::RESP3NotSupported);
        greeted(&login, "+OK\r\n+OK\r\n").await.expect("greeted");
        greeted(&login, "+OK\r\n-ERR DB index is out of range\r\n").await.expect_err("no database");
    }
}
