//! A service under a policy file, with handlers in the test's hands.

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body, response::Response, routing::any};
use http::Request;
use lock_tower::{Locked, key::KeyValues, policies::Policies, testing::TestLocks};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
    time::Instant,
};

use crate::common::{Answer, request, send};

pub(crate) struct PolicyService {
    pub(crate) locks: TestLocks,
    pub(crate) app: Router,
    received: mpsc::UnboundedReceiver<&'static str>,
    pub(crate) goes_on: Arc<Semaphore>,
}

/// A file with one rule for every route, `rule` in it and `defaults` for it.
pub(crate) fn file(defaults: &str, rule: &str) -> String {
    format!(
        "version = 1\n[request]\ndeadline_header = \"x-ms\"\n[defaults]\n{defaults}\n\
         [[policy]]\nname = \"order\"\nmatch = {{}}\n{rule}\n"
    )
}

/// The rule of most tests, without anything else.
pub(crate) const KEY: &str = "key = \"order:{id}\"";

/// The field in the rule, and in the defaults.
pub(crate) fn both(field: &str) -> [String; 2] {
    [file("", &format!("{KEY}\n{field}")), file(field, KEY)]
}

/// Without any field.
pub(crate) fn plain() -> PolicyService {
    PolicyService::new(&file("", KEY))
}

struct Tells(mpsc::UnboundedSender<&'static str>, &'static str);

impl Drop for Tells {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

impl PolicyService {
    pub(crate) fn new(file: &str) -> Self {
        let locks = TestLocks::new();
        let policies = Policies::builder(locks.client())
            .values(
                KeyValues::new()
                    .extension("tenant", |parts| {
                        Some(parts.headers.get("x-tenant")?.to_str().ok()?.to_owned())
                    })
                    .claims(|parts, name| {
                        let plan = parts.headers.get("x-plan").filter(|_| name == "plan")?;
                        Some(plan.to_str().ok()?.to_owned())
                    }),
            )
            .fallback("stale", async |refused| {
                let path = refused.request().map_or("", |request| request.uri.path());
                Response::new(format!("{} {path}", refused.outcome().as_str()).into())
            })
            .parse("locks.toml", file)
            .unwrap();
        let (tell, received) = mpsc::unbounded_channel();
        let goes_on = Arc::new(Semaphore::new(0));
        let gate = Arc::clone(&goes_on);
        let work = async move |_: Locked| {
            let mut tells = Tells(tell, "dropped");
            let _ = tells.0.send("began");
            gate.acquire().await.unwrap().forget();
            tells.1 = "ended";
            "worked"
        };
        let app = Router::new()
            .route("/work/{id}", any(work))
            .route("/orders/{id}", any(|| async { "done" }))
            .route("/orders/{id}/lines", any(|| async { "done" }))
            .route_layer(policies.layer());
        Self { locks, app, received, goes_on }
    }

    pub(crate) async fn put(&self, path: &str) -> Answer {
        self.send(request("PUT", path)).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        send(&self.app, request).await
    }

    pub(crate) async fn status(&self, method: &str, path: &str) -> u16 {
        self.send(request(method, path)).await.status.as_u16()
    }

    /// The answer, and the whole seconds until it came.
    pub(crate) async fn timed(&self, request: Request<Body>) -> (Answer, u64) {
        let asked_at = Instant::now();
        let answer = self.send(request).await;
        (answer, asked_at.elapsed().as_secs())
    }

    /// A request that is at work on the order 7.
    pub(crate) async fn at_work(&mut self) -> JoinHandle<Answer> {
        let app = self.app.clone();
        let request = tokio::spawn(async move { send(&app, request("PUT", "/work/7")).await });
        self.received("began").await;
        request
    }

    pub(crate) async fn received(&mut self, what: &str) {
        assert_eq!(self.received.recv().await, Some(what));
    }

    /// Whether another replica finds the order 7 free at this moment.
    pub(crate) async fn is_free(&self) -> bool {
        self.locks.another_replica().write("order:7").try_acquire().await.is_ok()
    }

    /// Waits until it does.
    pub(crate) async fn freed(&self) {
        let acquire = self.locks.another_replica().write("order:7").wait(Duration::from_secs(60));
        drop(acquire.acquire().await.unwrap());
    }
}
