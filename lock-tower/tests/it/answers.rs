//! Answers by functions, and with other statuses: the log line, the metrics and the outcome stay.

use std::time::Duration;

use crate::common::{NEVER, call, logs::Logs, metrics::Metrics, request, send};
use axum::{Router, body::Body, routing::put};
use http::{Request, Response, StatusCode};
use lock_tower::{
    Enforce, LockClient, MemoryStore, Mode, Outcome, PrincipalLimit, RequestLockLayer,
    key::KeyRejection,
    settings::{OnBusy, OnDisconnect},
};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};

struct Scene {
    store: MemoryStore,
    locks: LockClient,
    lock: RequestLockLayer,
}

impl Scene {
    fn new() -> Self {
        let store = MemoryStore::new();
        let locks = LockClient::builder().wait(Duration::ZERO).in_memory_on(&store);
        let lock = RequestLockLayer::new(locks.clone(), "order:{id:u64}").unwrap().name("order");
        Self { store, locks, lock }
    }

    fn without_key(bad: fn() -> KeyRejection) -> Self {
        let scene = Self::new();
        let lock = RequestLockLayer::with_key(scene.locks.clone(), move |_| Err::<&str, _>(bad()));
        Self { lock: lock.name("order"), ..scene }
    }

    /// The request that has this outcome.
    fn request(outcome: Outcome) -> Request<Body> {
        let mut request = request("PUT", "/7");
        request.headers_mut().insert(REQUEST_ID, "r-1".parse().unwrap());
        if outcome == Outcome::BodyTooLarge {
            *request.body_mut() = "x".repeat(3_000_000).into();
        }
        request
    }

    async fn of(outcome: Outcome) -> Self {
        let scene = Self::new();
        match outcome {
            Outcome::Busy | Outcome::Overloaded => {
                let guard = scene.locks.write("order:7").acquire().await.unwrap();
                // Held to the end of the test.
                Box::leak(Box::new(guard));
            }
            Outcome::Unavailable => scene.store.set_down(true),
            Outcome::Draining => scene.locks.shutdown(NEVER).await.unwrap(),
            Outcome::KeyMissing => {
                return Self::without_key(|| KeyRejection::missing("it is missing"));
            }
            Outcome::KeyInvalid => {
                return Self::without_key(|| KeyRejection::invalid("it is invalid"));
            }
            Outcome::Misconfigured => {
                return Self::without_key(|| KeyRejection::misconfigured("we are wrong"));
            }
            _ => {}
        }
        let lock = match outcome {
            Outcome::Overloaded => scene.lock.max_waiters(0).wait(NEVER),
            Outcome::OverLimit => {
                scene.lock.limit_principals(PrincipalLimit::new(0, |_| Some("jane".to_owned())))
            }
            // Every request has it, and it is not a number.
            Outcome::DeadlineInvalid => scene.lock.deadline_header(REQUEST_ID),
            Outcome::Lost => scene.lock.max_hold(Duration::from_secs(60)),
            _ => scene.lock,
        };
        Self { lock, ..scene }
    }
}

const REQUEST_ID: http::HeaderName = http::HeaderName::from_static("x-request-id");

const ALL: [Outcome; 11] = [
    Outcome::Busy,
    Outcome::Overloaded,
    Outcome::OverLimit,
    Outcome::DeadlineInvalid,
    Outcome::Unavailable,
    Outcome::Draining,
    Outcome::Lost,
    Outcome::KeyMissing,
    Outcome::KeyInvalid,
    Outcome::BodyTooLarge,
    Outcome::Misconfigured,
];

#[tokio::test(start_paused = true)]
async fn a_function_answers_and_everything_else_stays() {
    for outcome in ALL {
        let (metrics, logs) = (Metrics::collect(), Logs::collect());
        let scene = Scene::of(outcome).await;
        let lock = scene.lock.answer(outcome, async |refused| {
            // A function may take its time.
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(refused.mode(), Some(Mode::Write));
            let request = refused.request().unwrap();
            assert_eq!(request.headers["x-request-id"], "r-1");
            Response::new(format!("{:?} of {}", refused.outcome(), request.uri).into())
        });
        let app = Router::new().route("/{id}", put(std::future::pending::<()>)).route_layer(lock);

        let response = app.oneshot(Scene::request(outcome)).await.unwrap();

        assert_eq!(response.status(), 200);
        assert_eq!(response.extensions().get::<Outcome>(), Some(&outcome));
        let text = axum::body::to_bytes(response.into_body(), 100).await.unwrap();
        assert_eq!(text, format!("{outcome:?} of /7"));
        let lines = logs.lines();
        let reported = lines.iter().filter(|line| line.contains(outcome.as_str()));
        assert_eq!(reported.count(), 1, "{lines:?}");
        let counted = match outcome {
            // It had its lock first.
            Outcome::Lost => r#"lock_lost_total{policy="order",cause="max-hold"}"#.to_owned(),
            _ => format!(
                r#"lock_requests_total{{policy="order",mode="write",outcome="{}"}}"#,
                outcome.as_str()
            ),
        };
        assert_eq!(metrics.value(&counted), 1.0, "{counted}");
    }
}

/// Whatever the function does for a lost lock, it does without it.
#[tokio::test(start_paused = true)]
async fn a_lost_lock_is_released_before_the_function_runs() {
    for on_disconnect in [OnDisconnect::Cancel, OnDisconnect::Finish] {
        let scene = Scene::of(Outcome::Lost).await;
        let locks = scene.locks.clone();
        let lock = scene.lock.on_disconnect(on_disconnect).answer(Outcome::Lost, move |_| {
            let free = locks.write("order:7").wait(Duration::from_secs(5));
            async move { Response::new(free.acquire().await.is_ok().to_string().into()) }
        });
        let app = Router::new().route("/{id}", put(std::future::pending::<()>)).route_layer(lock);
        assert_eq!(call(&app, "PUT", "/7").await.text, "true");
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_for_one_outcome_is_none_for_another() {
    let scene = Scene::of(Outcome::Busy).await;
    let lock = scene.lock.answer(Outcome::Lost, async |_| panic!("requested another outcome"));
    let app = Router::new().route("/{id}", put(|| async {})).route_layer(lock);
    call(&app, "PUT", "/7").await.assert_problem(423, "lock-busy");
}

fn app(lock: RequestLockLayer) -> Router {
    Router::new().route("/{id}", put(std::future::pending::<()>)).route_layer(lock)
}

#[tokio::test(start_paused = true)]
async fn every_outcome_has_the_status_that_the_layer_sets() {
    for outcome in ALL {
        let lock = Scene::of(outcome).await.lock.answer_status(outcome, StatusCode::IM_A_TEAPOT);
        let answer = send(&app(lock), Scene::request(outcome)).await;
        assert_eq!(answer.assert_problem(418, outcome.as_str())["status"], 418);
        // It has no effect on another outcome.
        let others = ALL.into_iter().filter(|other| *other != outcome);
        let lock = others.fold(Scene::of(outcome).await.lock, |lock, other| {
            lock.answer_status(other, StatusCode::IM_A_TEAPOT)
        });
        let answer = send(&app(lock), Scene::request(outcome)).await;
        let status = outcome.status().as_u16();
        assert_eq!(answer.assert_problem(status, outcome.as_str())["status"], status);
    }
}

#[tokio::test(start_paused = true)]
async fn every_legal_status_is_in_the_document_and_in_the_status_line() {
    let scene = Scene::of(Outcome::Busy).await;
    for status in 400..600 {
        let lock = scene.lock.clone();
        let lock = lock.answer_status(Outcome::Busy, StatusCode::from_u16(status).unwrap());
        let answer = call(&app(lock), "PUT", "/7").await;
        let document = answer.assert_problem(status, "lock-busy");
        assert_eq!(document["status"], status);
        assert!(answer.headers.contains_key("retry-after"), "{status}");
    }
}

/// A function that answers sees the status, and the last of two settings counts.
#[tokio::test(start_paused = true)]
async fn a_function_starts_from_the_status_that_is_set() {
    let lock = Scene::of(Outcome::Busy).await.lock;
    let lock = lock
        .answer_status(Outcome::Busy, StatusCode::OK)
        .answer_status(Outcome::Busy, StatusCode::CONFLICT)
        .answer(Outcome::Busy, async |rejected| rejected.problem());
    call(&app(lock), "PUT", "/7").await.assert_problem(409, "lock-busy");
}

/// Settings that contradict each other are logged when the layer is added, and refuse each request.
#[tokio::test(start_paused = true)]
async fn a_layer_that_cannot_answer_as_it_says_refuses() {
    let second = Duration::from_secs(1);
    let lock = || Scene::new().lock;
    for (lock, reported) in [
        (
            lock().answer_status(Outcome::Busy, StatusCode::OK),
            "`lock-busy` cannot have the status 200",
        ),
        (
            lock().answer_status(Outcome::Lost, StatusCode::FOUND),
            "`lock-lost` cannot have the status 302",
        ),
        (lock().answer_status(Outcome::Misconfigured, StatusCode::CONTINUE), "the status 100"),
        (lock().answer_status(Outcome::Busy, StatusCode::from_u16(600).unwrap()), "the status 600"),
        (
            lock().answer_status(Outcome::Skipped, StatusCode::from_u16(199).unwrap()),
            "`lock-skipped` cannot have the status 199: such a request is answered with 200 to 599",
        ),
        (lock().on_busy(OnBusy::Fail).wait(second), "`OnBusy::Fail` does not wait"),
        (lock().wait(second).on_busy(OnBusy::Fail), "`OnBusy::Fail` does not wait"),
    ] {
        let logs = Logs::collect();
        drop(lock.layer(()));
        let lines = logs.lines();
        let [line] = &lines[..] else { panic!("one line: {lines:?}") };
        let named = ["ERROR", "no request can acquire this lock", reported];
        assert!(named.iter().all(|part| line.contains(part)), "{line}");

        let app = |lock| Router::new().route("/{id}", put(async || "done")).route_layer(lock);
        let answer = call(&app(lock.clone()), "PUT", "/7").await;
        answer.assert_problem(500, "lock-misconfigured");
        // Nothing is locked.
        let off = app(lock.enforce(Enforce::Off));
        assert_eq!(call(&off, "PUT", "/7").await.text, "done");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_lock_is_waited_for_or_not() {
    let locks = LockClient::in_memory();
    let _held = locks.write("order:7").acquire().await.unwrap();
    let lock = || RequestLockLayer::new(locks.clone(), "order:{id:u64}").unwrap();
    for (lock, seconds) in [
        (lock(), 1),
        (lock().on_busy(OnBusy::Wait), 1),
        (lock().on_busy(OnBusy::Wait).wait(Duration::from_secs(3)), 3),
        (lock().on_busy(OnBusy::Fail), 0),
        (lock().on_busy(OnBusy::Fail).wait(Duration::ZERO), 0),
    ] {
        let began = Instant::now();
        call(&app(lock), "PUT", "/7").await.assert_problem(423, "lock-busy");
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
}
