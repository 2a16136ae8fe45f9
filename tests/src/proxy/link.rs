//! One connection through a proxy.

use std::io;
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::way::Way;

const PIECE: usize = 16 * 1024;

/// A stream that is reset when it is dropped before its orderly end.
pub(super) struct Socket {
    stream: TcpStream,
    ended: bool,
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        // Otherwise Nagle's algorithm adds delays that nobody asked for.
        let _ = stream.set_nodelay(true);
        Self { stream, ended: false }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if !self.ended {
            // To close with linger 0 is how one asks for a reset.
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

/// Copies both ways until both have ended, or until one breaks, which resets both.
pub(super) async fn link(mut client: Socket, mut server: Socket, to_server: &Way, to_client: &Way) {
    let (from_client, into_client) = client.stream.split();
    let (from_server, into_server) = server.stream.split();
    let both = tokio::try_join!(
        copy(from_client, into_server, to_server, to_client),
        copy(from_server, into_client, to_client, to_server),
    );
    client.ended = both.is_ok();
    server.ended = both.is_ok();
}

/// Copies one way; what happens at one end is told to the other only over an open way.
async fn copy(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    way: &Way,
    back: &Way,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await;
        way.admit().await;
        let read = read?;
        if read == 0 {
            return to.shutdown().await;
        }
        let granted = way.grant(read);
        if let Err(error) = to.write_all(&piece[..granted]).await {
            // The far end is gone: for the near end that is news from the other direction.
            back.opened().await;
            return Err(error);
        }
        if granted < read {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
    }
}
