//! The latest wins: a newer request replaces the one that runs, and those that wait.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::Path,
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
    routing::{get, post},
};
use futures_util::{FutureExt, StreamExt, stream};
use lock_tower::{
    Enforce, LockClient, LockError, Locked, OnMissingKey, Outcome, RequestLockLayer,
    distributed_lock,
    errors::LostCause,
    settings::{HoldUntil, OnBusy, OnLost},
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};
use tower::ServiceExt;

use crate::common::{Answer, NEVER, call, gated_work, logs::Logs, metrics::Metrics, request};

/// The running requests that a newer one has replaced.
const REPLACED: &str = r#"lock_lost_total{policy="chat",cause="replaced"}"#;

/// A conversation in the test's hands.
struct World {
    locks: LockClient,
    app: Router,
    /// From each turn, its beginning.
    began: mpsc::UnboundedReceiver<Locked>,
    goes_on: Arc<Semaphore>,
}

fn world(layer: impl FnOnce(RequestLockLayer) -> RequestLockLayer) -> World {
    let locks = LockClient::builder().lease(NEVER).in_memory();
    let lock = RequestLockLayer::new(locks.clone(), "chat:{user}:{id}").unwrap();
    let lock = lock.on_busy(OnBusy::Replace).replace_by("user").replace_after(NEVER);
    let (turn, began, goes_on) = gated_work("answered");
    let app = Router::new()
        .route("/{user}/{id}", post(turn).get(async || "read"))
        .route_layer(layer(lock));
    World { locks, app, began, goes_on }
}

impl World {
    fn say(&self, path: &str) -> JoinHandle<Answer> {
        let (app, path) = (self.app.clone(), path.to_owned());
        tokio::spawn(async move { call(&app, "POST", &path).await })
    }

    /// A request that waits for the lock of this key.
    async fn waiting(&self, key: &str) -> JoinHandle<Answer> {
        let request = self.say(&format!("/{}", key.replace("chat:", "").replace(':', "/")));
        let place = format!("lock-replace:{key}");
        let is_waiting = async || !self.locks.inspect(&*place).await.unwrap().holders.is_empty();
        while !is_waiting().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        request
    }
}

#[tokio::test(start_paused = true)]
async fn a_newer_request_cancels_the_one_that_runs() {
    let metrics = Metrics::collect();
    let mut world = world(|lock| lock.name("chat"));
    let first = world.say("/ann/7");
    let lock = world.began.recv().await.unwrap();
    let second = world.say("/ann/7");
    let replaced = first.await.unwrap().assert_problem(409, "lock-replaced");
    assert_eq!(replaced["executed"], true);
    assert_eq!(replaced["retry_after_ms"], serde_json::Value::Null);
    let newer = world.began.recv().await.unwrap();
    assert!(newer.fencing_token() > lock.fencing_token());
    world.goes_on.add_permits(1);
    assert_eq!(&*second.await.unwrap().text, "answered");
    assert_eq!(metrics.value(REPLACED), 1.0);
}

/// A function that answers has the request that was replaced while it ran, and the one that waited.
#[tokio::test(start_paused = true)]
async fn an_answer_has_the_request() {
    let mut world = world(|lock| {
        lock.answer(Outcome::Replaced, async |rejected| {
            let path = rejected.request().map(|request| request.uri.path().to_owned());
            http::Response::new(path.unwrap_or_default().into())
        })
    });
    let first = world.say("/ann/7");
    world.began.recv().await.unwrap();
    let _second = world.say("/ann/7");
    assert_eq!(&*first.await.unwrap().text, "/ann/7");
}

#[tokio::test(start_paused = true)]
async fn another_conversation_goes_on() {
    let mut world = world(|lock| lock);
    let (ann, bob) = (world.say("/ann/7"), world.say("/bob/7"));
    for _ in 0..2 {
        world.began.recv().await.unwrap();
    }
    world.goes_on.add_permits(2);
    for answer in [ann, bob] {
        assert_eq!(answer.await.unwrap().status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn of_the_requests_that_wait_only_the_newest_stays() {
    let mut world = world(|lock| lock.on_lost(OnLost::Signal));
    let first = world.say("/ann/7");
    let lock = world.began.recv().await.unwrap();
    let second = world.waiting("chat:ann:7").await;
    let third = world.say("/ann/7");
    let replaced = second.await.unwrap().assert_problem(409, "lock-replaced");
    assert_eq!(replaced["executed"], false);
    lock.release_requested().await;
    assert!(!first.is_finished() && !third.is_finished());
    world.goes_on.add_permits(2);
    assert_eq!(&*first.await.unwrap().text, "answered", "it decides by itself when it stops");
    assert_eq!(&*third.await.unwrap().text, "answered");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_goes_on_loses_its_lock() {
    let mut world =
        world(|lock| lock.on_lost(OnLost::Signal).replace_after(Duration::from_secs(3)));
    let first = world.say("/ann/7");
    let lock = world.began.recv().await.unwrap();
    let second = world.say("/ann/7");
    let newer = world.began.recv().await.unwrap();
    assert!(newer.fencing_token() > lock.fencing_token());
    assert!(!lock.is_held());
    world.goes_on.add_permits(2);
    assert_eq!(first.await.unwrap().headers["lock-degraded"], "lost");
    assert!(!second.await.unwrap().headers.contains_key("lock-degraded"));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_reads_waits() {
    let mut world = world(|lock| lock);
    let writer = world.say("/ann/7");
    world.began.recv().await.unwrap();
    call(&world.app, "GET", "/ann/7").await.assert_problem(423, "lock-busy");
    world.goes_on.add_permits(1);
    assert_eq!(writer.await.unwrap().status, 200);
    assert_eq!(&*call(&world.app, "GET", "/ann/7").await.text, "read");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_reads_is_replaced_by_one_that_writes() {
    let locks = LockClient::in_memory();
    let lock = RequestLockLayer::new(locks.clone(), "chat:{id}").unwrap();
    let lock = lock.on_busy(OnBusy::Replace).replace_by("id").replace_after(NEVER);
    let app: Router = Router::new()
        .route("/{id}", get(async || std::future::pending::<()>().await).put(async || "written"))
        .route_layer(lock);
    let reads = tokio::spawn({
        let app = app.clone();
        async move { call(&app, "GET", "/7").await }
    });
    while locks.inspect("chat:7").await.unwrap().holders.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(&*call(&app, "PUT", "/7").await.text, "written");
    assert_eq!(reads.await.unwrap().assert_problem(409, "lock-replaced")["executed"], true);
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_is_not_enforced_cancels_and_rejects_nothing() {
    let mut world = world(|lock| lock);
    let first = world.say("/ann/7");
    world.began.recv().await.unwrap();
    for (enforce, by) in
        [(Enforce::Shadow, "user"), (Enforce::Shadow, "claim.sub"), (Enforce::Off, "claim.sub")]
    {
        let lock = RequestLockLayer::new(world.locks.clone(), "chat:{user}:{id}").unwrap();
        let lock = lock.on_busy(OnBusy::Replace).replace_by(by).replace_after(Duration::ZERO);
        let lock = lock.enforce(enforce);
        let app: Router =
            Router::new().route("/{user}/{id}", post(async || "beside")).route_layer(lock);
        assert_eq!(&*call(&app, "POST", "/ann/7").await.text, "beside");
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    assert!(!first.is_finished());
    world.goes_on.add_permits(1);
    assert_eq!(&*first.await.unwrap().text, "answered");
}

#[test]
fn a_layer_for_both_modes_is_no_mistake() {
    let logs = Logs::collect();
    let lock = RequestLockLayer::new(LockClient::in_memory(), "chat:{id:u64}").unwrap();
    let lock = lock.on_busy(OnBusy::Replace).replace_by("id");
    drop(Router::<()>::new().route("/{id}", get(async || "")).route_layer(lock));
    assert!(!logs.text().contains("no request can acquire"), "{}", logs.text());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_replaced_requests() {
    let mut world = world(|lock| lock);
    let mut all: Vec<_> = (0..50).map(|_| world.say("/ann/7")).collect();
    let last = all.pop().unwrap();
    for replaced in all {
        replaced.await.unwrap().assert_problem(409, "lock-replaced");
    }
    world.goes_on.add_permits(1);
    assert_eq!(&*last.await.unwrap().text, "answered");
    while world.began.try_recv().is_ok() {}
    for key in ["chat:ann:7", "lock-replace:chat:ann:7"] {
        let acquired = world.locks.write(key).wait(Duration::from_secs(60)).acquire().await;
        acquired.unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn a_layer_has_to_say_which_requests_may_replace_another() {
    let refused = async |layer: fn(RequestLockLayer) -> RequestLockLayer| {
        let locks = LockClient::in_memory();
        let lock =
            layer(RequestLockLayer::new(locks, "chat:{id}").unwrap().on_busy(OnBusy::Replace));
        let app: Router = Router::new().route("/{id}", post(async || ())).route_layer(lock);
        call(&app, "POST", "/7").await
    };
    refused(|lock| lock).await.assert_problem(500, "lock-misconfigured");
    let by = |lock: RequestLockLayer| lock.replace_by("claim.sub");
    refused(by).await.assert_problem(500, "lock-misconfigured");
    assert_eq!(refused(|lock| lock.replace_by("anyone")).await.status, 200);
    assert_eq!(refused(|lock| lock.replace_by("id")).await.status, 200);
    let constant = |lock: RequestLockLayer| {
        let key = lock_tower::LockKey::try_from("chat:ann").unwrap();
        lock.replace_by("id").on_missing_key(OnMissingKey::Constant(key))
    };
    refused(constant).await.assert_problem(500, "lock-misconfigured");
    let with_default = "chat:{header.x-user|default=anon}:{id}";
    let lock = RequestLockLayer::new(LockClient::in_memory(), with_default).unwrap();
    let lock = lock.on_busy(OnBusy::Replace).replace_by("header.x-user");
    let app: Router = Router::new().route("/{id}", post(async || ())).route_layer(lock);
    call(&app, "POST", "/7").await.assert_problem(500, "lock-misconfigured");
    let keys = |_: &http::request::Parts| Ok(vec![lock_tower::LockKey::try_from("chat").unwrap()]);
    let lock = RequestLockLayer::with_keys(LockClient::in_memory(), keys);
    let lock = lock.on_busy(OnBusy::Replace).replace_by("claim.sub");
    let app: Router = Router::new().route("/{id}", post(async || ())).route_layer(lock);
    call(&app, "POST", "/7").await.assert_problem(500, "lock-misconfigured");
}

/// A stream of events that never ends, and another one.
async fn streamed(events: bool) -> (Router, Response) {
    let locks = LockClient::builder().lease(NEVER).in_memory();
    let lock = RequestLockLayer::new(locks, "chat:{id}").unwrap().name("chat");
    let lock = lock.on_busy(OnBusy::Replace).replace_by("anyone").hold_until(HoldUntil::Body);
    let turn = async move || -> Response {
        let words = stream::iter(["one"]).chain(stream::pending());
        if events {
            Sse::new(words.map(|word| Ok::<_, std::io::Error>(Event::default().data(word))))
                .into_response()
        } else {
            Body::from_stream(words.map(Ok::<_, std::io::Error>)).into_response()
        }
    };
    let app = Router::new().route("/{id}", get(async || "").post(turn)).route_layer(lock);
    let response = app.clone().oneshot(request("POST", "/7")).await.unwrap();
    (app, response)
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_events_ends_with_one_that_says_so() {
    let (app, first) = streamed(true).await;
    let mut events = first.into_body().into_data_stream();
    assert_eq!(events.next().await.unwrap().unwrap(), "data: one\n\n");
    let newer = tokio::spawn(app.oneshot(request("POST", "/7")));
    let last = String::from_utf8(events.next().await.unwrap().unwrap().to_vec()).unwrap();
    let data = last.trim().strip_prefix("event: lock-replaced\ndata: ").expect("an event");
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!((&data["status"], &data["executed"]), (&409.into(), &true.into()));
    assert!(events.next().await.is_none());
    assert_eq!(newer.await.unwrap().unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn another_stream_is_cut_short() {
    let (logs, metrics) = (Logs::collect(), Metrics::collect());
    let (app, first) = streamed(false).await;
    let mut words = first.into_body().into_data_stream();
    assert_eq!(words.next().await.unwrap().unwrap(), "one");
    let newer = tokio::spawn(app.oneshot(request("POST", "/7")));
    assert!(words.next().await.unwrap().is_err());
    assert_eq!(newer.await.unwrap().unwrap().status(), 200);
    assert_eq!(metrics.value(REPLACED), 1.0);
    // Expected, and no warning.
    let lines = logs.lines();
    let cut = lines.iter().find(|line| line.contains("cut short")).expect("a line");
    assert!(cut.contains("INFO"), "{cut}");
}

#[distributed_lock(
    key = "chat:{id}",
    on_busy = "replace",
    replace_by = "anyone",
    replaced_status = 410
)]
async fn handler(Path(id): Path<u64>, lock: Locked) -> String {
    assert!(lock.is_held());
    if id == 0 { std::future::pending().await } else { id.to_string() }
}

#[tokio::test(start_paused = true)]
async fn calls_of_an_attribute_replace_each_other() {
    let locks = LockClient::in_memory();
    let app: Router = Router::new()
        .route("/{id}", post(handler))
        .layer(lock_tower::RequestScopeLayer::new(locks.clone()));
    let first = tokio::spawn({
        let app = app.clone();
        async move { call(&app, "POST", "/0").await }
    });
    let is_held = async || !locks.inspect("chat:0").await.unwrap().holders.is_empty();
    while !is_held().await {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let second = tokio::spawn(async move { call(&app, "POST", "/0").await });
    first.await.unwrap().assert_problem(410, "lock-replaced");
    second.abort();
}

#[distributed_lock(key = "job", name = "chat", client = locks, on_busy = "replace", replace_by = "anyone")]
async fn job(locks: LockClient, ends: bool) -> Result<bool, LockError> {
    if ends { Ok(true) } else { std::future::pending().await }
}

#[tokio::test(start_paused = true)]
async fn a_function_returns_that_it_was_replaced() {
    let metrics = Metrics::collect();
    let locks = LockClient::in_memory();
    let mut first = tokio::spawn(job(locks.clone(), false));
    let is_held = async || !locks.inspect("job").await.unwrap().holders.is_empty();
    while !is_held().await {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!((&mut first).now_or_never().is_none());
    assert!(job(locks, true).await.unwrap());
    let ended = first.await.unwrap();
    assert_eq!(metrics.value(REPLACED), 1.0);
    assert!(
        matches!(&ended, Err(LockError::Lost(lost)) if lost.cause() == LostCause::Replaced),
        "{ended:?}"
    );
}
