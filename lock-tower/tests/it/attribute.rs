//! The attribute on handlers.

use std::time::Duration;

use crate::common::{NEVER, call, logs::Logs};
use axum::{
    Router,
    extract::{FromRef, Path, State},
    routing::any,
};
use http::StatusCode;
use lock_tower::{
    LockClient, Locked, MemoryStore, Mode, Outcome, RequestLockLayer, RequestScopeLayer,
    distributed_lock, settings::LockMode,
};

#[distributed_lock(key = "line:{id:u64}", wait = "0s", name = "line")]
async fn line(lock: Locked, Path(id): Path<String>) -> String {
    tokio::time::sleep(Duration::from_millis(200)).await;
    format!("{} {id}", lock.name())
}

#[distributed_lock(key = "line:{id}")]
async fn no_line(Path(id): Path<u64>) -> Result<String, StatusCode> {
    if id == 0 {
        Err(StatusCode::NOT_FOUND)?;
    }
    Ok(id.to_string())
}

fn app(locks: &LockClient) -> Router {
    Router::new()
        .route("/lines/{id}", any(line))
        .route("/no-lines/{id}", any(no_line))
        .layer(RequestScopeLayer::new(locks.clone()))
}

#[tokio::test(start_paused = true)]
async fn the_body_runs_under_the_lock() {
    let locks = LockClient::in_memory();
    let first = call(&app(&locks), "PUT", "/lines/7").await;
    assert_eq!(first.text, "line 7");
    let guard = locks.write("line:7").acquire().await.unwrap();

    let answer = call(&app(&locks), "PUT", "/lines/007").await;

    let document = answer.assert_problem(423, "lock-busy");
    assert_eq!(document["lock"], "line");
    assert_eq!(document["mode"], "write");
    assert_eq!(document["executed"], false);
    let ms = document["retry_after_ms"].as_u64().unwrap();
    assert!((150..=260).contains(&ms), "as long as the hold before, jittered: {ms}");
    drop(guard);
    assert_eq!(call(&app(&locks), "PUT", "/lines/7").await.status, 200);
}

#[tokio::test]
async fn an_early_return_releases() {
    let locks = LockClient::builder().lease(NEVER).in_memory();
    let answer = call(&app(&locks), "PUT", "/no-lines/0").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(locks.write("line:0").try_acquire().await.is_ok());
}

#[tokio::test]
async fn a_value_that_is_no_key_is_the_clients_fault() {
    let refused = call(&app(&LockClient::in_memory()), "PUT", "/lines/seven").await;
    let document = refused.assert_problem(400, "lock-key-invalid");
    assert_eq!(document["lock"], "line");
    assert!(!refused.text.contains("seven"));
}

#[axum::debug_handler]
#[distributed_lock(key = "line:{id}")]
async fn debug_above(Path(id): Path<u64>) -> String {
    id.to_string()
}

#[distributed_lock(key = "line:{id}")]
#[axum::debug_handler]
async fn debug_below(Path(id): Path<u64>) -> String {
    id.to_string()
}

#[tokio::test]
async fn debug_handler_may_stand_on_either_side() {
    let app = Router::new()
        .route("/above/{id}", any(debug_above))
        .route("/below/{id}", any(debug_below))
        .layer(RequestScopeLayer::new(LockClient::in_memory()));
    assert_eq!(call(&app, "PUT", "/above/7").await.text, "7");
    assert_eq!(call(&app, "PUT", "/below/7").await.text, "7");
}

#[tokio::test]
async fn an_attribute_without_a_client_is_refused() {
    let logs = Logs::collect();
    let app: Router = Router::new().route("/lines/{id}", any(line));

    let document = call(&app, "PUT", "/lines/7").await.assert_problem(500, "lock-misconfigured");

    assert_eq!(document["executed"], false);
    let lines = logs.lines();
    for hint in ["RequestLockLayer", "RequestScopeLayer", "client = state"] {
        assert!(lines[0].contains(hint), "{hint} in {lines:?}");
    }
}

#[derive(Clone)]
struct App {
    locks: LockClient,
}

impl FromRef<App> for LockClient {
    fn from_ref(app: &App) -> Self {
        app.locks.clone()
    }
}

#[distributed_lock(key = "order:{id:u64}", client = state, wait = "0s", name = "from-state")]
async fn from_state(State(app): State<App>, Path(id): Path<String>, lock: Locked) -> String {
    let held = app.locks.hold_count(lock.view().unwrap().key(), Mode::Write).await;
    format!("{} {id} {}", lock.name(), held.unwrap_or(0))
}

#[distributed_lock(key = "all", client = state)]
async fn from_state_alone() -> &'static str {
    "alone"
}

#[tokio::test]
async fn an_attribute_finds_its_client_in_the_state() {
    let locks = LockClient::in_memory();
    let routes =
        Router::new().route("/orders/{id}", any(from_state)).route("/alone", any(from_state_alone));
    let app = routes.clone().with_state(App { locks: locks.clone() });

    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "from-state 7 1");
    assert_eq!(call(&app, "PUT", "/alone").await.text, "alone");
    let refused = call(&app, "PUT", "/orders/seven").await;
    let document = refused.assert_problem(400, "lock-key-invalid");
    assert_eq!(document["lock"], "from-state");

    // Inside a layer it shares the request's scope.
    let layered = routes
        .route_layer(
            RequestLockLayer::with_key(locks.clone(), |_| Ok("order:7")).mode(LockMode::Write),
        )
        .with_state(App { locks });
    assert_eq!(call(&layered, "PUT", "/orders/7").await.text, "from-state 7 2");
}

#[distributed_lock(key = "order:7")]
async fn with_room_for_a_page() -> String {
    let page = [1_u8; 4096];
    tokio::task::yield_now().await;
    page[page.len() - 1].to_string()
}

/// The future of an attribute's handler has room for the body a few times, not for every layer of
/// the way to it: debug builds have it on the stack.
#[test]
fn the_future_of_a_handler_is_small() {
    let size = size_of_val(&with_room_for_a_page());
    assert!(size < 5 * 4096, "{size} bytes");
}

#[distributed_lock(
    key = "order:7",
    wait = "20s",
    max_hold = "60s",
    busy_status = 409,
    deadlock_status = 410,
    overloaded_status = 411,
    unavailable_status = 412,
    draining_status = 413,
    lost_status = 414
)]
async fn answering() {
    std::future::pending::<()>().await;
}

#[tokio::test(start_paused = true)]
async fn an_attributes_statuses_are_those_of_their_outcomes() {
    for (outcome, status) in [
        (Outcome::Busy, 409),
        (Outcome::Deadlock, 410),
        (Outcome::Overloaded, 411),
        (Outcome::Unavailable, 412),
        (Outcome::Draining, 413),
        (Outcome::Lost, 414),
    ] {
        let store = MemoryStore::new();
        let locks = LockClient::builder().refuse_deadlocks(true);
        let locks = if outcome == Outcome::Overloaded { locks.max_waiters(0) } else { locks };
        let locks = locks.in_memory_on(&store);
        let (scope, other) = (locks.scope(), locks.scope());
        let _held = match outcome {
            Outcome::Busy | Outcome::Overloaded | Outcome::Deadlock => {
                Some(other.write("order:7").acquire().await.unwrap())
            }
            _ => None,
        };
        let _own = scope.write("stock:7").acquire().await.unwrap();
        if outcome == Outcome::Deadlock {
            tokio::spawn(other.write("stock:7").wait(NEVER).acquire());
            // Until it is written down since when the other waits, by the clock of the host, which no
            // test pauses: the request is to be the last.
            tokio::time::sleep(Duration::from_millis(600)).await;
            std::thread::sleep(Duration::from_millis(5));
        }
        match outcome {
            Outcome::Unavailable => store.set_down(true),
            Outcome::Draining => drop(tokio::spawn({
                let locks = locks.clone();
                async move { locks.shutdown(NEVER).await }
            })),
            _ => {}
        }
        tokio::task::yield_now().await;
        let app = Router::new().route("/", any(answering)).layer(RequestScopeLayer::new(locks));
        let answer = scope.run(call(&app, "PUT", "/")).await;
        assert_eq!(answer.assert_problem(status, outcome.as_str())["status"], status);
    }
}
