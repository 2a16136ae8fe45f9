//! Connecting: from a URL to a session.

use std::{fmt, time::Duration};

use lock_store::{ConnectError, InvalidOptions, connect::OnReconnect, runtime::LeaseInstant};
use tokio::time::Instant;
use zookeeper_client::{Client, Error};

use super::{
    ConnectPlan, belief::session_timeout_for, path::Root, session::Session, url::ZooKeeperUrl,
};

/// Shorter than any session of use, and long enough to connect in.
const SHORTEST: Duration = Duration::from_millis(300);
/// Between two attempts to reach any server.
const DIAL_AGAIN: Duration = Duration::from_millis(50);

/// How a client connects, at first and whenever its session has ended.
pub(crate) struct SessionConnector {
    url: ZooKeeperUrl,
    pub(crate) root: Root,
    /// The timeout that is requested of the ensemble.
    session_timeout: Duration,
    /// The least timeout that it must grant; `None` until the first session.
    least: Option<Duration>,
    connect_timeout: Duration,
    pub(crate) on_reconnect: OnReconnect,
    #[cfg(feature = "tls")]
    tls: Option<zookeeper_client::TlsOptions>,
}

/// Never shows the credentials.
impl fmt::Debug for SessionConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionConnector").field("address", &self.address()).finish_non_exhaustive()
    }
}

impl SessionConnector {
    pub(crate) fn new(plan: &ConnectPlan<'_>) -> Result<Self, ConnectError> {
        let url = ZooKeeperUrl::parse(plan.url)?;
        if url.encrypted && !cfg!(feature = "tls") {
            return Err(ConnectError::MissingFeature { feature: "zookeeper-tls" });
        }
        let root = Root::new(&plan.options.prefix);
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: url.encrypted.then(|| super::tls::options(&plan.tls)).transpose()?,
            url,
            root: root.map_err(|why| InvalidOptions::new(why.to_string()))?,
            session_timeout: session_timeout_for(plan.lease),
            least: None,
            connect_timeout: plan.options.connect_timeout,
            on_reconnect: plan.options.on_reconnect.clone(),
        })
    }

    pub(crate) fn address(&self) -> String {
        self.url.address()
    }

    pub(crate) fn session_timeout(&self) -> Duration {
        self.session_timeout
    }

    /// From now on only sessions of this timeout are used: the validity of every lock is computed
    /// from it.
    pub(crate) fn require(&mut self, session_timeout: Duration) {
        (self.session_timeout, self.least) = (session_timeout, Some(session_timeout));
    }

    /// Begins the first session, and tries again and again until the connect timeout is over: servers that
    /// are busy, or elect a leader, refuse a connection or leave it unanswered, and may have a session to
    /// give a moment later.
    pub(crate) async fn connect_first(&self) -> Result<Session, ConnectError> {
        let deadline = Instant::now() + self.connect_timeout;
        loop {
            let why = match self.connect(1).await {
                Err(why @ ConnectError::Unreachable { .. }) => why,
                connected => return connected,
            };
            if Instant::now() + DIAL_AGAIN >= deadline {
                return Err(why);
            }
            tokio::time::sleep(DIAL_AGAIN).await;
        }
    }

    /// Begins a session, and checks that locks can be kept in it.
    pub(crate) async fn connect(&self, number: u64) -> Result<Session, ConnectError> {
        let connecting = async {
            // Before anything is sent: the ensemble counts the session from some moment after this.
            // Counted from the reply, the client would rely on it for too long.
            let began = LeaseInstant::now();
            let client =
                self.dial(self.session_timeout).await.map_err(|why| self.unreachable(&why))?;
            let session = Session::new(client, number, self.root.clone(), began);
            self.check(&session).await?;
            Ok(session)
        };
        match tokio::time::timeout(self.connect_timeout, connecting).await {
            Ok(connected) => connected,
            Err(_) => {
                let limit = self.connect_timeout;
                Err(self.unreachable(&format!("no session within {limit:?}")))
            }
        }
    }

    /// The timeout that the ensemble grants when nearly none is requested, if it is longer.
    pub(crate) async fn least_timeout(&self) -> Option<Duration> {
        let dialed = tokio::time::timeout(self.connect_timeout, self.dial(SHORTEST)).await;
        let granted = dialed.ok()?.ok()?.session_timeout();
        (granted > SHORTEST).then_some(granted)
    }

    async fn dial(&self, session_timeout: Duration) -> Result<Client, Error> {
        let mut connector =
            Client::connector().with_session_timeout(session_timeout).with_fail_eagerly();
        // A server that does not answer is given up early: another one can still renew before the
        // lease, three fifths of the session, has ended.
        connector = connector.with_connection_timeout((session_timeout / 5).max(SHORTEST));
        if let Some(credentials) = &self.url.credentials {
            connector = connector.with_auth("digest", credentials.as_bytes());
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let connector = connector.with_tls(tls.clone());
            return connector.secure_connect(&self.url.connect_string()).await;
        }
        connector.connect(&self.url.connect_string()).await
    }

    async fn check(&self, session: &Session) -> Result<(), ConnectError> {
        let granted = session.client.session_timeout();
        // A shorter session ends while the client still relies on its locks, and the ensemble would
        // grant them to others.
        if self.least.is_some_and(|least| granted < least) {
            let wanted = self.session_timeout;
            return Err(self.unsuitable(format!(
                "it grants a session of {granted:?}, not of {wanted:?}: set \
                 LockClientBuilder::lease to three fifths of the granted timeout, or raise its \
                 maxSessionTimeout"
            )));
        }
        let folder = self.root.folder();
        let usable = async {
            if session.client.check_stat("/").await?.is_none() {
                return Ok(false);
            }
            if folder != "/" {
                session.make_folder(folder).await?;
            }
            session.client.get_children(folder).await?;
            // Every renewal rests on this command. A server that is cut off from the others, or too
            // old for it, is found here and not by the first holder.
            session.confirm().await?;
            Ok(true)
        };
        match usable.await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let chroot = &self.url.chroot;
                Err(self.unsuitable(format!(
                    "the chroot {chroot} does not exist: create it, as in zkCli.sh create {chroot}"
                )))
            }
            Err(why) => Err(self.unusable(&why)),
        }
    }

    fn unusable(&self, why: &Error) -> ConnectError {
        let (chroot, folder) = (&self.url.chroot, self.root.folder());
        match why {
            Error::NoAuth | Error::AuthFailed => ConnectError::Refused {
                store: "ZooKeeper",
                address: self.address(),
                reason: format!("they may not create and read znodes under {chroot}{folder}"),
            },
            Error::Unimplemented => self.unsuitable("it cannot list a session's znodes".to_owned()),
            Error::NotReadOnly => self
                .unsuitable("it is read-only: it has lost the majority of the ensemble".to_owned()),
            why => self.unreachable(why),
        }
    }

    fn unreachable(&self, why: &dyn fmt::Display) -> ConnectError {
        ConnectError::Unreachable {
            store: "ZooKeeper",
            address: self.address(),
            reason: why.to_string(),
            source: None,
        }
    }

    fn unsuitable(&self, reason: String) -> ConnectError {
        ConnectError::UnsuitableEnsemble { address: self.address(), reason }
    }
}
