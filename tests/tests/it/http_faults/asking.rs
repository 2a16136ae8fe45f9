//! Requests, each with an id of its own, and what may be answered.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::atomic::{AtomicU64, Ordering},
};

use ::http::{Method, Request};
use lock_tests::{
    LIMIT, RawHttp, bounded,
    http::{self, HttpError, Reply},
};

use crate::http_faults::two_replicas::TwoReplicas;

static NEXT: AtomicU64 = AtomicU64::new(1);

pub(crate) fn next_id() -> String {
    NEXT.fetch_add(1, Ordering::Relaxed).to_string()
}

impl TwoReplicas {
    pub(crate) fn request(&self, replica: usize, method: Method, path: &str) -> Request<String> {
        let url = format!("http://127.0.0.1:{}{path}", self.replicas[replica].port);
        let request = Request::builder().method(method).uri(url).header("x-request-id", next_id());
        request.body(String::new()).unwrap()
    }

    /// The outcome of a request to a replica that is up.
    pub(crate) async fn ask(&self, replica: usize, method: Method, path: &str) -> &'static str {
        let reply = bounded(LIMIT, http::send(self.request(replica, method, path))).await;
        outcome(&reply.unwrap())
    }

    /// A connection in the test's hands.
    pub(crate) async fn raw(&self, replica: usize) -> RawHttp {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, self.replicas[replica].port));
        RawHttp::connect(addr).await
    }
}

/// The head of a `POST` with a body of so many bytes.
pub(crate) fn head(path: &str, length: usize) -> String {
    let id = next_id();
    format!(
        "POST {path} HTTP/1.1\r\nhost: test\r\nx-request-id: {id}\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// What may be answered, by status.
const PROBLEMS: [(u16, &str); 5] = [
    (423, "lock-busy"),
    (503, "lock-overloaded"),
    (503, "lock-unavailable"),
    (503, "lock-draining"),
    (503, "lock-lost"),
];

/// `"done"`, or the problem, which must be a documented one in its documented form.
pub(crate) fn outcome(reply: &Reply) -> &'static str {
    if reply.status == 200 {
        return "done";
    }
    assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{reply:?}");
    let problem = reply.json();
    let named = |(status, name): &&(u16, &str)| {
        *status == reply.status && problem["type"] == format!("urn:lock-tower:problem:{name}")
    };
    let known = PROBLEMS.iter().find(named).unwrap_or_else(|| panic!("{reply:?}"));
    assert_eq!(problem["executed"].is_boolean(), known.1 != "lock-lost", "{problem}");
    known.1
}

/// The reason why there is no reply, if that is legal: no process listened, or a replica that was
/// about to end has closed the connection before it handled the request.
pub(crate) fn not_begun(world: &TwoReplicas, id: &str, error: &HttpError) -> bool {
    match error {
        HttpError::Connect(..) => true,
        _ => !world.room.has_seen(id),
    }
}
