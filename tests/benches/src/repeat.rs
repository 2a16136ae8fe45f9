//! One thing so many times, in a process of its own whose instructions are counted from outside.

use std::time::Duration;

use axum::{Router, body::Body};
use clap::Args;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use tokio::time::sleep;
use tower::ServiceExt;

use crate::{args::spelt, cycles::Cycling, http::Guarded, subject::Name};

/// What is repeated.
#[derive(Clone, Debug, Args)]
pub(crate) struct Repeated {
    /// Requests to a router, one after the other, without a socket.
    #[arg(long, value_enum)]
    pub(crate) guarded: Option<Guarded>,
    /// Acquisitions and releases.
    #[arg(long, value_enum, conflicts_with = "guarded", required_unless_present = "guarded")]
    pub(crate) subject: Option<Name>,
    #[arg(long, default_value_t = 1)]
    pub(crate) tasks: usize,
    #[arg(long)]
    pub(crate) count: usize,
    #[arg(long)]
    pub(crate) url: String,
}

impl Repeated {
    pub(crate) fn words(&self) -> Vec<String> {
        let Self { guarded, subject, tasks, count, url } = self;
        let what = match (guarded, subject) {
            (Some(guarded), _) => ["--guarded".to_owned(), guarded.spelt()],
            (None, subject) => {
                ["--subject".to_owned(), subject.map(spelt).expect("BUG: one is set")]
            }
        };
        let how = ["--tasks", &tasks.to_string(), "--count", &count.to_string(), "--url", url];
        let words = ["repeat".to_owned()].into_iter().chain(what);
        words.chain(how.map(ToOwned::to_owned)).collect()
    }
}

pub(crate) async fn main(what: Repeated) {
    match (what.guarded, what.subject) {
        (Some(guarded), _) => requests(guarded.router(&what.url).await, what.count).await,
        (None, Some(subject)) => cycles(subject, &what.url, what.tasks, what.count).await,
        (None, None) => unreachable!("BUG: one is required"),
    }
}

/// So many cycles in total, of keys in turn: each acquisition contacts Redis.
pub(crate) async fn cycles(name: Name, url: &str, tasks: usize, count: usize) {
    let subject = name.connect(url).await;
    let keys = if tasks == 1 { 1_024 } else { 16 };
    let cycling = Cycling { tasks, keys, time: Duration::ZERO };
    cycling.repeat(&subject, count / tasks).await;
}

async fn requests(router: Router, count: usize) {
    // As `axum::serve` does: otherwise each request prepares its route.
    let router = router.with_state(());
    for number in 0..count {
        let request = Request::builder()
            .method(Method::PUT)
            .uri(format!("/items/{number}"))
            .body(Body::empty())
            .expect("a request");
        let response = router.clone().oneshot(request).await.expect("it cannot fail");
        assert_eq!(response.status(), StatusCode::OK);
        response.into_body().collect().await.expect("a whole body");
    }
    // The last releases are sent in the background.
    sleep(Duration::from_millis(50)).await;
}
