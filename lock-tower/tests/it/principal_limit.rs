//! How many locks one principal may hold and wait for.

use std::{sync::Arc, time::Duration};

use crate::common::{Answer, NEVER, metrics::Metrics, request, send};
use axum::{
    Router,
    body::Body,
    extract::{Extension, Path, Request},
    http::StatusCode,
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
    routing::put,
};
use lock_tower::{
    Enforce, LockClient, PrincipalLimit, RequestLockLayer, RequestScopeLayer, distributed_lock,
    policies::Policies, settings::OnDisconnect,
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};
use tower_http::catch_panic::CatchPanicLayer;

#[derive(Clone)]
struct User(String);

/// As a service does it: a request without credentials is answered before any lock.
async fn authenticate(mut request: Request, next: Next) -> Response {
    let user = request.headers().get("x-user").and_then(|user| user.to_str().ok());
    let Some(user) = user.map(str::to_owned) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    request.extensions_mut().insert(User(user));
    next.run(request).await
}

fn limit(most: usize) -> PrincipalLimit {
    PrincipalLimit::new(most, |parts| {
        let User(user) = parts.extensions.get()?;
        (user != "anonymous").then(|| user.clone())
    })
}

struct World {
    app: Router,
    began: mpsc::UnboundedReceiver<String>,
    goes_on: Arc<Semaphore>,
}

impl World {
    fn new(routes: impl FnOnce(Router) -> Router) -> Self {
        let (begin, began) = mpsc::unbounded_channel();
        let goes_on = Arc::new(Semaphore::new(0));
        let lets = Arc::clone(&goes_on);
        let handler = put(async move |Path(id): Path<String>| {
            begin.send(id.clone()).unwrap();
            assert!(id != "panics", "as it is meant to");
            lets.acquire().await.unwrap().forget();
        });
        let handlers = Router::new().route("/orders/{id}", handler.clone());
        let handlers = handlers.route("/carts/{id}", handler);
        let app = routes(handlers).route_layer(from_fn(authenticate));
        Self { app: app.layer(CatchPanicLayer::new()), began, goes_on }
    }

    fn of(layer: RequestLockLayer) -> Self {
        Self::new(|routes| routes.route_layer(layer))
    }

    fn ask(&self, user: &str, path: &str) -> JoinHandle<Answer> {
        let (app, request) = (self.app.clone(), by(user, path));
        tokio::spawn(async move { send(&app, request).await })
    }

    /// A request whose handler has begun.
    async fn at_work(&mut self, user: &str, path: &str) -> JoinHandle<Answer> {
        let requested = self.ask(user, path);
        self.began.recv().await.unwrap();
        requested
    }

    async fn assert_over_limit(&self, user: &str, path: &str) {
        let document = self.ask(user, path).await.unwrap().assert_problem(429, "lock-over-limit");
        assert_eq!(document["executed"], false);
        assert!(document["retry_after_ms"].as_u64().is_some_and(|ms| ms > 0), "{document}");
        assert!(!document.to_string().contains(user), "{document}");
    }
}

fn by(user: &str, path: &str) -> http::Request<Body> {
    let mut request = request("PUT", path);
    request.headers_mut().insert("x-user", user.parse().unwrap());
    request
}

fn layer() -> RequestLockLayer {
    let layer = RequestLockLayer::new(LockClient::in_memory(), "order:{id}").unwrap();
    layer.name("order").wait(NEVER).limit_principals(limit(2))
}

#[tokio::test(start_paused = true)]
async fn what_is_held_and_what_is_waited_for_counts_until_it_ends() {
    let metrics = Metrics::collect();
    let mut world = World::of(layer());
    let holds = world.at_work("jane", "/orders/1").await;
    let waits = world.ask("jane", "/orders/1");
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.assert_over_limit("jane", "/orders/2").await;
    let series = r#"lock_requests_total{policy="order",mode="write",outcome="lock-over-limit"}"#;
    assert_eq!(metrics.value(series), 1.0);
    let other = world.at_work("jack", "/orders/2").await;

    world.goes_on.add_permits(3);
    for done in [holds, waits, other] {
        assert_eq!(done.await.unwrap().status, 200);
    }
    world.goes_on.add_permits(1);
    assert_eq!(world.ask("jane", "/orders/2").await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn authentication_comes_before_the_lock() {
    let world = World::of(layer());
    let answer = send(&world.app, request("PUT", "/orders/1")).await;
    assert_eq!(answer.status, 401, "and no lock was requested");
}

#[tokio::test(start_paused = true)]
async fn left_panicked_and_refused_requests_no_longer_count() {
    let mut world = World::of(layer());
    let holds = world.at_work("jane", "/orders/1").await;
    for _ in 0..3 {
        let waits = world.ask("jane", "/orders/1");
        tokio::time::sleep(Duration::from_secs(1)).await;
        waits.abort();
        assert!(waits.await.unwrap_err().is_cancelled());
        assert_eq!(world.ask("jane", "/orders/panics").await.unwrap().status, 500);
        world.began.recv().await.unwrap();
    }
    holds.abort();
    assert!(holds.await.unwrap_err().is_cancelled());
    let refused = layer().wait(Duration::ZERO);
    let mut world = World::of(refused);
    let _holds = world.at_work("jane", "/orders/1").await;
    for _ in 0..3 {
        world.ask("jane", "/orders/1").await.unwrap().assert_problem(423, "lock-busy");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_goes_on_without_its_client_still_counts() {
    let mut world = World::of(layer().on_disconnect(OnDisconnect::Finish));
    for path in ["/orders/1", "/orders/2"] {
        let requested = world.at_work("jane", path).await;
        requested.abort();
        assert!(requested.await.unwrap_err().is_cancelled());
    }
    world.assert_over_limit("jane", "/orders/3").await;
    world.goes_on.add_permits(3);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.ask("jane", "/orders/3").await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn each_key_counts_and_nothing_is_taken_of_what_is_too_much() {
    let keys = |most| {
        let keys = ["a:{id}", "b:{id}", "c:{id}"];
        let layer = RequestLockLayer::multi(LockClient::in_memory(), keys).unwrap();
        World::of(layer.limit_principals(limit(most)))
    };
    keys(2).assert_over_limit("jane", "/orders/1").await;
    let mut world = keys(5);
    let _three = world.at_work("jane", "/orders/1").await;
    world.assert_over_limit("jane", "/orders/2").await;
    world.assert_over_limit("jane", "/orders/2").await;
}

#[tokio::test(start_paused = true)]
async fn unlimited_and_uncounted_requests_pass() {
    let mut world = World::of(layer());
    for path in ["/orders/1", "/orders/2", "/orders/3"] {
        drop(world.at_work("anonymous", path).await);
    }
    for enforce in [Enforce::Shadow, Enforce::Off] {
        let mut world = World::of(layer().enforce(enforce));
        for path in ["/orders/1", "/orders/2", "/orders/3"] {
            drop(world.at_work("jane", path).await);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn clones_and_the_rules_of_a_policy_file_count_together() {
    let both = limit(2);
    let locks = LockClient::in_memory();
    let policies = Policies::builder(locks.clone()).limit_principals(both.clone());
    let rule = |name: &str| {
        let (one, all) = (name.trim_end_matches('s'), format!("/{name}/{{id}}"));
        format!(
            "[[policy]]\nname = \"{one}\"\nmatch = {{ path = \"{all}\" }}\nkey = \"{one}:{{id}}\"\n"
        )
    };
    let file = format!("version = 1\n{}{}", rule("orders"), rule("carts"));
    let policies = policies.parse("locks.toml", &file).unwrap();
    let mut world = World::new(|routes| routes.route_layer(policies.layer()));
    let _order = world.at_work("jane", "/orders/1").await;
    let _cart = world.at_work("jane", "/carts/1").await;
    world.assert_over_limit("jane", "/orders/2").await;
    let layer = RequestLockLayer::new(locks, "other:{id}").unwrap().limit_principals(both);
    World::of(layer).assert_over_limit("jane", "/orders/3").await;
}

/// The handler of an attribute reports to the test, and waits for it.
#[derive(Clone)]
struct Work {
    begin: mpsc::UnboundedSender<String>,
    lets: Arc<Semaphore>,
}

#[distributed_lock(key = "order:{id}", wait = "1h", limit_principals = 2, principal = "{user.0}")]
async fn limited(
    Extension(user): Extension<User>,
    Extension(work): Extension<Work>,
    Path(id): Path<String>,
) {
    work.begin.send(id).unwrap();
    work.lets.acquire().await.unwrap().forget();
}

impl World {
    /// A service whose handler has its limit from its attribute alone.
    fn of_an_attribute(client: LockClient) -> Self {
        let (begin, began) = mpsc::unbounded_channel();
        let goes_on = Arc::new(Semaphore::new(0));
        let work = Work { begin, lets: Arc::clone(&goes_on) };
        let app = Router::new().route("/orders/{id}", put(limited));
        let app = app.layer(Extension(work)).layer(RequestScopeLayer::new(client));
        Self { app: app.layer(from_fn(authenticate)), began, goes_on }
    }
}

/// One test for all: the counts of an attribute are those of the process.
#[tokio::test(start_paused = true)]
async fn an_attribute_limits_the_locks_of_a_principal() {
    let mut world = World::of_an_attribute(LockClient::in_memory());
    let holds = world.at_work("jane", "/orders/1").await;
    let waits = world.ask("jane", "/orders/1");
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.assert_over_limit("jane", "/orders/2").await;
    let other = world.at_work("jack", "/orders/2").await;

    // One that leaves no longer counts, and neither does one that is done.
    waits.abort();
    assert!(waits.await.unwrap_err().is_cancelled());
    let second = world.at_work("jane", "/orders/3").await;
    world.assert_over_limit("jane", "/orders/4").await;
    world.goes_on.add_permits(3);
    for done in [holds, other, second] {
        assert_eq!(done.await.unwrap().status, 200);
    }
    world.goes_on.add_permits(1);
    assert_eq!(world.ask("jane", "/orders/4").await.unwrap().status, 200);

    // A name that no key could have is the client's fault.
    let long = "j".repeat(2_000);
    world.ask(&long, "/orders/1").await.unwrap().assert_problem(400, "lock-key-invalid");
}
