//! The server: its address, how to open a connection to it, and what may be said about it.

use std::{sync::Arc, time::Duration};

use redis::{
    AsyncConnectionConfig, Client, ErrorKind, IntoConnectionInfo, ProtocolVersion, PushInfo,
    RedisError, ServerErrorKind, aio::MultiplexedConnection, io::tcp::TcpSettings,
};
use tokio::sync::mpsc;

use super::{ConnectError, RedisOptions};

/// Longer silence than this on an open connection has the kernel ask whether anybody is there.
const KEEPALIVE: Duration = Duration::from_secs(15);

pub(super) struct Target {
    client: Client,
    /// Host and port, or the socket's path: what may be printed.
    pub(super) address: String,
    pub(super) connect_timeout: Duration,
    /// What `CLIENT LIST` shows.
    connection_name: String,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(f)
    }
}

impl Target {
    pub(super) fn parse(
        url: &str,
        options: &RedisOptions,
        name: &str,
    ) -> Result<Self, ConnectError> {
        // The kind that the redis crate appends says nothing to the user.
        let invalid = |error| {
            let reason = reason(&error);
            let reason = reason.trim_end_matches(" - InvalidClientConfig").to_owned();
            ConnectError::InvalidUrl { reason }
        };
        if ["rediss:", "valkeys:"].iter().any(|scheme| url.starts_with(scheme)) {
            let reason = "TLS is not supported yet".to_owned();
            return Err(ConnectError::InvalidUrl { reason });
        }
        let info = url.into_connection_info().map_err(invalid)?;
        let redis = info
            .redis_settings()
            .clone()
            .set_protocol(ProtocolVersion::RESP3)
            .set_skip_set_lib_name();
        // Small commands must not wait for each other's acknowledgements.
        let keepalive = redis::io::tcp::socket2::TcpKeepalive::new().with_time(KEEPALIVE);
        let tcp = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
        let info = info.set_redis_settings(redis).set_tcp_settings(tcp);
        let address = info.addr().to_string();
        let client = Client::open(info).map_err(invalid)?;
        Ok(Self {
            client,
            address,
            connect_timeout: options.connect_timeout,
            connection_name: name.to_owned(),
        })
    }

    /// Opens a connection that reports its pushes, its own end among them.
    pub(super) async fn open(
        &self,
        pushes: mpsc::UnboundedSender<PushInfo>,
    ) -> Result<MultiplexedConnection, ConnectError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_push_sender(pushes);
        let opened = async {
            let mut connection =
                self.client.get_multiplexed_async_connection_with_config(&config).await?;
            // A name is a courtesy to whoever looks at CLIENT LIST; not every user may set it.
            let name = redis::cmd("CLIENT").arg("SETNAME").arg(&self.connection_name).to_owned();
            let _: Result<(), _> = name.query_async(&mut connection).await;
            Ok(connection)
        };
        match tokio::time::timeout(self.connect_timeout, opened).await {
            Ok(opened) => opened.map_err(|error| self.refusal(error)),
            Err(_) => Err(self.silent()),
        }
    }

    pub(super) fn silent(&self) -> ConnectError {
        ConnectError::Unreachable {
            address: self.address.clone(),
            reason: format!("no answer within {:?}", self.connect_timeout),
            source: None,
        }
    }

    pub(super) fn unsuitable(&self, reason: &str) -> ConnectError {
        ConnectError::Unsuitable { address: self.address.clone(), reason: reason.to_owned() }
    }

    /// What an error while connecting means to the user.
    pub(super) fn refusal(&self, error: RedisError) -> ConnectError {
        let address = self.address.clone();
        let text = reason(&error);
        let credentials = ["WRONGPASS", "NOAUTH", "NOPERM", "invalid password"];
        match error.kind() {
            ErrorKind::AuthenticationFailed => ConnectError::Refused { address, reason: text },
            _ if credentials.iter().any(|word| text.contains(word)) => {
                ConnectError::Refused { address, reason: text }
            }
            ErrorKind::RESP3NotSupported => self.unsuitable("it is older than Redis 6"),
            ErrorKind::Server(ServerErrorKind::BusyLoading | ServerErrorKind::MasterDown)
            | ErrorKind::Io => {
                ConnectError::Unreachable { address, reason: text, source: Some(Arc::new(error)) }
            }
            _ => self.unsuitable(&text),
        }
    }
}

/// An error in one line. The redis crate keeps credentials out of its errors.
pub(super) fn reason(error: &RedisError) -> String {
    error.to_string()
}
