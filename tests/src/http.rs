//! Requests over real sockets, one connection each.

mod reply;

pub use reply::Reply;

use ::http::{Method, Request, Uri, header::HOST};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::{LIMIT, bounded};

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// There is no listener.
    #[error("no connection to {1}: {0}")]
    Connect(#[source] std::io::Error, String),
    /// The connection ended before the reply did.
    #[error("no reply: {0}")]
    Exchange(#[from] hyper::Error),
}

/// The reply to `GET url`, which must come within [`LIMIT`].
pub async fn get(url: &str) -> Reply {
    expect(url, Method::GET, "").await
}

/// The reply to `POST url` with `body`, which must come within [`LIMIT`].
pub async fn post(url: &str, body: &str) -> Reply {
    expect(url, Method::POST, body).await
}

async fn expect(url: &str, method: Method, body: &str) -> Reply {
    match bounded(LIMIT, request(method.clone(), url, body)).await {
        Ok(reply) => reply,
        Err(error) => panic!("{method} {url}: {error}"),
    }
}

/// The reply to any method, or why there is none: for servers that are killed under the test.
///
/// # Errors
///
/// When the connection is refused, or ends before the reply is complete.
pub async fn request(method: Method, url: &str, body: &str) -> Result<Reply, HttpError> {
    let request = Request::builder().method(method).uri(url);
    send(request.body(body.to_owned()).expect("a URL")).await
}

/// The reply to a request with headers of its own; its URI is absolute (`http://127.0.0.1:...`).
///
/// # Errors
///
/// When the connection is refused, or ends before the reply is complete.
///
/// # Cancel safety
///
/// Dropping the future closes the connection, as a client does that goes away.
pub async fn send(request: Request<String>) -> Result<Reply, HttpError> {
    send_body(request.map(|body| Full::new(Bytes::from(body)))).await
}

/// The same with a body of any kind, which may take its time.
///
/// # Errors
///
/// See [`send`].
///
/// # Cancel safety
///
/// See [`send`].
pub async fn send_body<B>(request: Request<B>) -> Result<Reply, HttpError>
where
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut head, body) = request.into_parts();
    let authority = head.uri.authority().expect("an absolute URL").to_string();
    let origin_form = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = Uri::try_from(origin_form).expect("a path");
    let host = authority.parse().expect("a host is a header value");
    head.headers.entry(HOST).or_insert(host);
    let request = Request::from_parts(head, body);

    let stream = match TcpStream::connect(&authority).await {
        Ok(stream) => stream,
        Err(error) => return Err(HttpError::Connect(error, authority)),
    };
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let exchange = async {
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Reply::new(head, body))
    };
    // Driven here, not in a task, so that the socket closes with this future. The exchange sees
    // the end of the connection as its own error.
    let drive = async {
        let _ = connection.await;
        std::future::pending().await
    };
    tokio::select! {
        reply = exchange => reply,
        never = drive => never,
    }
}
