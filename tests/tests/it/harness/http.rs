//! The client speaks HTTP, and disconnects on demand.

use http::Method;
use lock_tests::{LIMIT, RawHttp, bounded, free_port, http as client};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind(("127.0.0.1", free_port())).await.unwrap();
    let url = format!("http://{}/stock/apple?all", listener.local_addr().unwrap());
    (listener, url)
}

async fn accept(listener: &TcpListener) -> TcpStream {
    bounded(LIMIT, listener.accept()).await.unwrap().0
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).ends_with(end) {
        assert_ne!(bounded(LIMIT, stream.read_buf(&mut read)).await.unwrap(), 0);
    }
    String::from_utf8(read).unwrap()
}

#[tokio::test]
async fn a_reply_has_status_headers_and_json() {
    let (listener, url) = listen().await;
    let server = async {
        let mut stream = accept(&listener).await;
        let request = read_until(&mut stream, "{\"n\":1}").await;
        let reply =
            "HTTP/1.1 423 Locked\r\nretry-after: 2\r\ncontent-length: 10\r\n\r\n{\"left\":7";
        stream.write_all(reply.as_bytes()).await.unwrap();
        stream.write_all(b"}").await.unwrap();
        request
    };
    let (request, reply) = tokio::join!(server, client::post(&url, "{\"n\":1}"));
    assert!(request.starts_with("POST /stock/apple?all HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("host: 127.0.0.1:"), "{request}");
    assert_eq!(reply.status, 423);
    assert_eq!(reply.header("retry-after"), Some("2"));
    assert_eq!(reply.json()["left"], 7);
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_an_error() {
    let (listener, url) = listen().await;
    let server = async {
        let mut stream = accept(&listener).await;
        read_until(&mut stream, "\r\n\r\n").await;
        let half = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf";
        stream.write_all(half).await.unwrap();
    };
    let request = bounded(LIMIT, client::request(Method::GET, &url, ""));
    let ((), reply) = tokio::join!(server, request);
    assert!(matches!(reply, Err(client::HttpError::Exchange(_))), "{reply:?}");
}

#[tokio::test]
async fn a_closed_port_is_an_error() {
    let url = format!("http://127.0.0.1:{}/", free_port());
    let reply = client::request(Method::GET, &url, "").await;
    assert!(matches!(reply, Err(client::HttpError::Connect(..))), "{reply:?}");
}

#[tokio::test]
async fn a_dropped_request_closes_its_connection() {
    let (listener, url) = listen().await;
    let request = tokio::spawn(async move { client::get(&url).await });
    let mut stream = accept(&listener).await;
    read_until(&mut stream, "\r\n\r\n").await;
    request.abort();
    assert_eq!(bounded(LIMIT, stream.read(&mut [0])).await.unwrap(), 0);
}

#[tokio::test]
async fn a_raw_client_can_send_half_and_reset() {
    let (listener, _) = listen().await;
    let mut raw = RawHttp::connect(listener.local_addr().unwrap()).await;
    let mut stream = accept(&listener).await;
    raw.request("POST", "/take", "{}").await;
    let request = read_until(&mut stream, "{}").await;
    assert!(request.starts_with("POST /take HTTP/1.1\r\n"), "{request}");
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    assert!(raw.read_until("\r\n\r\n").await.contains("200"));

    raw.send("GET /hal").await;
    read_until(&mut stream, "/hal").await;
    raw.reset();
    let end = bounded(LIMIT, stream.read(&mut [0])).await;
    assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
}
