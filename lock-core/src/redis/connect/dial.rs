//! Opens a socket.

use std::{io, time::Duration};

use futures_util::future::{FutureExt, select_ok};
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

use super::{endpoint::Endpoint, tls::Connector};

/// TCP keepalive: how long an open connection is silent before the kernel probes the peer.
const KEEPALIVE: Duration = Duration::from_secs(15);

pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// Why there is no stream.
#[derive(Debug)]
pub(crate) enum DialError {
    Refused(io::Error),
    /// The socket is open, but the TLS handshake failed.
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "only TLS fails like this"))]
    Handshake(io::Error),
}

/// Opens a stream. `reached` is called once the socket is connected.
pub(crate) async fn dial(
    endpoint: &Endpoint,
    tls: Option<&Connector>,
    reached: impl FnOnce(),
) -> Result<Box<dyn Stream>, DialError> {
    let (host, port) = match endpoint {
        #[cfg(unix)]
        Endpoint::Unix(path) => {
            let stream = tokio::net::UnixStream::connect(path).await;
            let stream = stream.map_err(DialError::Refused)?;
            reached();
            return Ok(Box::new(stream));
        }
        // Its URL was refused.
        #[cfg(not(unix))]
        Endpoint::Unix(_) => return Err(DialError::Refused(io::ErrorKind::Unsupported.into())),
        Endpoint::Tcp(host, port) => (host.as_str(), *port),
    };
    let stream = connect(host, port).await.map_err(DialError::Refused)?;
    reached();
    match tls {
        None => Ok(Box::new(stream)),
        #[cfg(feature = "tls")]
        Some(tls) => {
            let stream = tls.wrap(host, stream).await.map_err(DialError::Handshake)?;
            Ok(Box::new(stream))
        }
        #[cfg(not(feature = "tls"))]
        Some(never) => match *never {},
    }
}

/// Connects to whichever of a name's addresses answers first: one that is down must not use up all
/// the time.
async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses = tokio::net::lookup_host((host, port)).await?;
    let attempts: Vec<_> = addresses.map(|address| TcpStream::connect(address).boxed()).collect();
    if attempts.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    }
    let (stream, _) = select_ok(attempts).await?;
    // Small commands must not wait for each other's acknowledgements.
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))?;
    Ok(stream)
}
