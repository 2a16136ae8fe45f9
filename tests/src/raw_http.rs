//! An HTTP connection that the test controls byte by byte.

use std::net::SocketAddr;
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{LIMIT, bounded};

/// For clients that misbehave: that disconnect in the middle, or send half a request.
///
/// Dropping it closes the connection in an orderly way.
#[derive(Debug)]
pub struct RawHttp {
    stream: TcpStream,
}

impl RawHttp {
    /// Connects.
    pub async fn connect(addr: SocketAddr) -> Self {
        let stream = bounded(LIMIT, TcpStream::connect(addr)).await;
        let stream = stream.unwrap_or_else(|error| panic!("no connection to {addr}: {error}"));
        Self { stream }
    }

    /// Sends these bytes as they are.
    pub async fn send(&mut self, text: &str) {
        let sent = bounded(LIMIT, self.stream.write_all(text.as_bytes())).await;
        sent.expect("the server has closed the connection");
    }

    /// Sends a whole request and does not wait for the reply.
    pub async fn request(&mut self, method: &str, path: &str, body: &str) {
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-length: {length}");
        self.send(&format!("{head}\r\n\r\n{body}")).await;
    }

    /// Reads until `part` has arrived, and returns everything read by this call.
    pub async fn read_until(&mut self, part: &str) -> String {
        let mut read = Vec::new();
        bounded(LIMIT, async {
            loop {
                let text = String::from_utf8_lossy(&read);
                if text.contains(part) {
                    return text.into_owned();
                }
                let text = text.into_owned();
                if !matches!(self.stream.read_buf(&mut read).await, Ok(1..)) {
                    panic!("the connection ended without {part:?}: {text}");
                }
            }
        })
        .await
    }

    /// Stops sending (FIN), and can still receive.
    pub async fn half_close(&mut self) {
        let closed = bounded(LIMIT, self.stream.shutdown()).await;
        closed.expect("the server has closed the connection");
    }

    /// Reads until the connection ends, in any way.
    pub async fn read_to_end(&mut self) -> String {
        let mut read = Vec::new();
        bounded(LIMIT, async { while matches!(self.stream.read_buf(&mut read).await, Ok(1..)) {} })
            .await;
        String::from_utf8_lossy(&read).into_owned()
    }

    /// Resets the connection, like a client whose process dies with unread data.
    pub fn reset(self) {
        let lingering = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        lingering.expect("cannot set SO_LINGER");
    }
}
