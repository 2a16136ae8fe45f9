//! A client without a library between it and the bytes.

use std::io::ErrorKind;

use lock_tests::{LIMIT, Proxy, bounded};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::MOMENT;

/// A client that sees exactly what its socket sees.
pub(super) struct Socket(pub(super) TcpStream);

impl Socket {
    pub(super) async fn connect(proxy: &Proxy) -> Self {
        let stream = bounded(LIMIT, TcpStream::connect(proxy.addr())).await;
        Self(stream.unwrap())
    }

    /// One that has been through to the server and back.
    pub(super) async fn established(proxy: &Proxy) -> Self {
        let mut socket = Self::connect(proxy).await;
        socket.send(b"PING\r\n").await;
        socket.expect(b"+PONG\r\n").await;
        socket
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    pub(super) async fn expect(&mut self, bytes: &[u8]) {
        let mut read = vec![0; bytes.len()];
        bounded(LIMIT, self.0.read_exact(&mut read)).await.unwrap();
        assert_eq!(read, bytes);
    }

    pub(super) async fn expect_silence(&mut self) {
        let read = tokio::time::timeout(MOMENT, self.0.read_u8()).await;
        assert!(read.is_err(), "{read:?}");
    }

    pub(super) async fn expect_reset(&mut self) {
        let read = bounded(LIMIT, self.0.read_u8()).await;
        assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}
