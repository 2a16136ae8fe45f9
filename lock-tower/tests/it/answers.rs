//! Answers by functions: the log line, the metrics and the outcome stay.

use std::time::Duration;

use crate::common::{NEVER, call, logs::Logs, metrics::Metrics, request};
use axum::{Router, routing::put};
use http::Response;
use lock_tower::{
    LockClient, MemoryStore, Mode, Outcome, PrincipalLimit, RequestLockLayer, key::KeyRejection,
    settings::OnDisconnect,
};
use tower::ServiceExt;

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
        let mut requests = request("PUT", "/7");
        requests.headers_mut().insert("x-request-id", "r-1".parse().unwrap());
        if outcome == Outcome::BodyTooLarge {
            *requests.body_mut() = "x".repeat(3_000_000).into();
        }

        let response = app.oneshot(requests).await.unwrap();

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
