//! Services and clients on real sockets.

use std::net::SocketAddr;

use axum::Router;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Serves `app` for as long as the test's runtime lives.
pub async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// A client that reads what comes, byte by byte. It hangs up when it is dropped.
pub struct Client(TcpStream);

impl Client {
    /// One that has sent a request.
    pub async fn ask(address: SocketAddr, method: &str, path: &str) -> Self {
        Self::ask_with(address, method, path, "connection: close\r\n").await
    }

    /// One that has sent a request with these header lines.
    pub async fn ask_with(address: SocketAddr, method: &str, path: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{method} {path} HTTP/1.1\r\nhost: test\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        Self(stream)
    }

    pub async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until `part` has arrived.
    pub async fn read_until(&mut self, part: &str) -> String {
        let mut read = String::new();
        while !read.contains(part) {
            let byte = self.0.read_u8().await;
            read.push(char::from(byte.unwrap_or_else(|_| panic!("no {part:?}: {read}"))));
        }
        read
    }

    /// Everything up to the end of the connection, however that ends.
    pub async fn rest(mut self) -> String {
        let mut read = Vec::new();
        let _ = self.0.read_to_end(&mut read).await;
        String::from_utf8_lossy(&read).into_owned()
    }
}
