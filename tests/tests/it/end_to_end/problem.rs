//! What a refusal looks like on the wire.

use lock_tests::http::Reply;
use serde_json::{Value, json};

/// Checks status, media type and the members that every problem document has.
pub(crate) fn assert_problem(reply: &Reply, status: u16, name: &str, executed: Value) {
    assert_eq!(reply.status, status, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    let problem = reply.json();
    assert_eq!(problem["type"], format!("urn:lock-tower:problem:{name}"));
    assert_eq!(problem["status"], status);
    assert_eq!(problem["executed"], executed);
    assert!(problem["title"].is_string() && problem["detail"].is_string(), "{problem}");
}

/// The same for an outcome after which the request may be repeated.
pub(crate) fn assert_repeatable(reply: &Reply, status: u16, name: &str) {
    assert_problem(reply, status, name, json!(false));
    let seconds = reply.header("retry-after").unwrap();
    assert!(seconds.parse::<u64>().unwrap() >= 1, "Retry-After: {seconds}");
    assert!(reply.json()["retry_after_ms"].as_u64().unwrap() > 0);
}
