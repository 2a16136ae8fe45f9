//! One connection through a proxy.

use std::io;
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::way::Way;

const PIECE: usize = 16 * 1024;

/// A stream that is reset if it is dropped before its orderly end.
pub(super) struct Socket {
    stream: TcpStream,
    ended: bool,
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        // Otherwise Nagle's algorithm would add delays.
        let _ = stream.set_nodelay(true);
        Self { stream, ended: false }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if !self.ended {
            // Closing with linger 0 sends a reset.
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

impl Socket {
    /// Reads and discards data until the other end has closed.
    pub(super) async fn swallow(&mut self) {
        let mut piece = vec![0; PIECE];
        while matches!(self.stream.read(&mut piece).await, Ok(read) if read > 0) {}
    }
}

/// Copies both ways until both have ended, or until one breaks, which resets both.
pub(super) async fn link(
    number: u64,
    client: &mut Socket,
    server: &mut Socket,
    to_server: &Way,
    to_client: &Way,
) {
    let (from_client, into_client) = client.stream.split();
    let (from_server, into_server) = server.stream.split();
    let both = tokio::try_join!(
        copy(number, from_client, into_server, to_server, to_client),
        copy(number, from_server, into_client, to_client, to_server),
    );
    client.ended = both.is_ok();
    server.ended = both.is_ok();
}

/// Copies one way. The end of one side is passed to the other only while the way is open.
async fn copy(
    number: u64,
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    way: &Way,
    back: &Way,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut spelling = way.spelled();
    let mut half_closed = way.half_closed();
    loop {
        let read = tokio::select! {
            read = from.read(&mut piece) => read,
            () = half_closed.wait() => return to.shutdown().await,
        };
        way.admit(number).await;
        let read = read?;
        if read == 0 {
            return to.shutdown().await;
        }
        let granted = way.grant(read);
        spelling.respell(&mut piece[..granted]);
        if let Err(error) = write(&mut to, &piece[..granted], way).await {
            // The far end is gone. The near end learns that from the other direction.
            back.opened(number).await;
            return Err(error);
        }
        if granted < read {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
    }
}

async fn write(to: &mut WriteHalf<'_>, bytes: &[u8], way: &Way) -> io::Result<()> {
    let Some(most) = way.most_at_once() else {
        return to.write_all(bytes).await;
    };
    for slice in bytes.chunks(most) {
        to.write_all(slice).await?;
        // Give the other end a chance to read before the next piece.
        tokio::task::yield_now().await;
    }
    Ok(())
}
