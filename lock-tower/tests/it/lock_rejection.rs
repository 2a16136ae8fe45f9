//! Answers of handlers that acquire locks themselves.

use std::time::Duration;

use axum::{
    Router,
    extract::Path,
    response::{IntoResponse, Response},
    routing::put,
};
use http::StatusCode;
use lock_tower::{
    AcquireError, Kind, LockClient, LockError, LockGuard, LockRejection, Outcome, RequestClient,
    RequestLockLayer, RequestScopeLayer,
};

use crate::common::{call, metrics::Metrics, request, send};

async fn acquire(locks: &LockClient, id: u64) -> Result<LockGuard, AcquireError> {
    locks.write(format!("order:{id}")).wait(Duration::ZERO).acquire().await
}

async fn change(
    RequestClient(locks): RequestClient,
    Path(id): Path<u64>,
) -> Result<&'static str, LockRejection> {
    let lock = acquire(&locks, id).await?;
    Ok(lock.protect(async { "changed" }).await?)
}

async fn change_twice(
    locks: RequestClient,
    Path(id): Path<u64>,
) -> Result<&'static str, LockRejection> {
    let _first = acquire(&locks, id).await?;
    let _other =
        acquire(&locks, id + 1).await.map_err(|error| LockRejection::from(error).after_work())?;
    Ok("changed")
}

fn app(locks: &LockClient) -> Router {
    Router::new()
        .route("/orders/{id}", put(change))
        .route("/pairs/{id}", put(change_twice))
        .layer(RequestScopeLayer::new(locks.clone()))
}

#[tokio::test]
async fn a_busy_lock_is_answered_as_a_layer_answers() {
    let locks = LockClient::in_memory();
    let lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().wait(Duration::ZERO);
    let layer = Router::new().route("/orders/{id}", put("changed")).route_layer(lock);
    let elsewhere = acquire(&locks, 7).await.unwrap();

    let mut answers = Vec::new();
    for app in [&app(&locks), &layer] {
        let mut request = request("PUT", "/orders/7");
        request.headers_mut().insert("x-request-id", "a7".parse().unwrap());
        let answer = send(app, request).await;
        let mut document = answer.assert_problem(423, "lock-busy");
        assert!(answer.headers.contains_key("retry-after"));
        let members = document.as_object_mut().unwrap();
        // These are the layer's alone, and the time has jitter.
        for member in ["lock", "kind", "mode", "retry_after_ms"] {
            members.remove(member);
        }
        assert_eq!(members["request_id"], "a7");
        answers.push(document);
    }
    assert_eq!(answers[0], answers[1]);

    drop(elsewhere);
    assert_eq!(call(&app(&locks), "PUT", "/orders/7").await.text, "changed");
}

#[tokio::test]
async fn a_handler_that_has_worked_says_so() {
    let locks = LockClient::in_memory();
    let _elsewhere = acquire(&locks, 8).await.unwrap();
    let answer = call(&app(&locks), "PUT", "/pairs/7").await;
    let document = answer.assert_problem(423, "lock-busy");
    assert_eq!(document["executed"], "unknown");
    assert!(document["detail"].as_str().unwrap().contains("may have been done"), "{document}");
    assert!(!answer.headers.contains_key("retry-after"));
    assert!(document.get("retry_after_ms").is_none());
    // The lock before is free again.
    let _free = acquire(&locks, 7).await.unwrap();
}

#[tokio::test]
async fn every_error_of_a_lock_is_an_answer() {
    let locks = LockClient::in_memory();
    let held = acquire(&locks, 7).await.unwrap();
    let busy = || acquire(&locks, 7);
    let wrong_kind = locks.fair("order:7").wait(Duration::ZERO).acquire();
    let too_short = locks.write("order:9").lease(Duration::from_millis(1)).acquire();
    let cases: [(LockError, u16, &str); 4] = [
        (busy().await.unwrap_err().into(), 423, "lock-busy"),
        (wrong_kind.await.unwrap_err().into(), 500, "lock-misconfigured"),
        (too_short.await.unwrap_err().into(), 500, "lock-misconfigured"),
        (locks.write("").acquire().await.unwrap_err().into(), 400, "lock-key-invalid"),
    ];
    for (error, status, problem) in cases {
        let response = LockRejection::from(error).into_response();
        assert_eq!(response.status(), status, "{problem}");
        let outcome = response.extensions().get::<Outcome>().unwrap();
        assert_eq!(outcome.as_str(), problem);
    }
    drop(held);
    locks.shutdown(Duration::from_secs(10)).await.unwrap();
    let draining = LockRejection::from(acquire(&locks, 7).await.unwrap_err());
    assert_eq!(draining.outcome(), Outcome::Draining);
    assert_eq!(draining.to_string(), "request not carried out under its lock: lock-draining");
}

#[tokio::test(start_paused = true)]
async fn a_lost_lock_is_answered_with_an_unknown_outcome() {
    let locks = LockClient::in_memory();
    let lock = locks.write("order:7").max_hold(Duration::from_secs(1));
    let lost = lock.run(std::future::pending::<()>()).await.unwrap_err();
    let response = LockRejection::from(lost).into_response();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.extensions().get(), Some(&Outcome::Lost));
}

#[tokio::test]
async fn a_client_without_a_layer_is_misconfigured() {
    let app = Router::new().route("/orders/{id}", put(change));
    let document = call(&app, "PUT", "/orders/7").await.assert_problem(500, "lock-misconfigured");
    let detail = document["detail"].as_str().unwrap();
    assert_eq!(detail.contains("add `RequestScopeLayer`"), cfg!(debug_assertions), "{detail}");
}

/// Run in another process: the tests of this one have a subscriber.
#[tokio::test]
#[ignore = "started by `without_a_subscriber_the_first_mistake_is_printed`"]
async fn misconfigured_twice() {
    let app = Router::new().route("/orders/{id}", put(change));
    for _ in 0..2 {
        call(&app, "PUT", "/orders/7").await.assert_problem(500, "lock-misconfigured");
    }
}

#[test]
fn without_a_subscriber_the_first_mistake_is_printed() {
    let program = std::env::current_exe().unwrap();
    let test = "lock_rejection::misconfigured_twice";
    let run = std::process::Command::new(program)
        .args(["--exact", test, "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let printed = String::from_utf8(run.stderr).unwrap();
    assert!(run.status.success(), "{printed}");
    assert_eq!(
        printed.matches("lock-tower: a handler takes `RequestClient`").count(),
        1,
        "{printed}"
    );
}

#[tokio::test]
async fn another_status_is_in_the_document_too() {
    let busy = LockRejection::from(Outcome::Busy)
        .answer_status(Outcome::Busy, StatusCode::CONFLICT)
        .answer_status(Outcome::Busy, StatusCode::OK)
        .answer_status(Outcome::Lost, StatusCode::IM_A_TEAPOT);
    let response = busy.into_http();
    assert_eq!(response.status(), StatusCode::CONFLICT);
    let document: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(document["status"], 409);
}

#[tokio::test]
async fn an_outcome_is_an_answer() {
    for outcome in Outcome::ALL {
        let response = LockRejection::from(outcome).into_response();
        assert_eq!(response.status(), outcome.status());
    }
}

#[cfg(feature = "macros")]
mod functions {
    use super::*;
    use lock_tower::{Mode, distributed_lock, policies::Policies};

    #[distributed_lock(key = "order:{id}", client = locks, wait = "0s")]
    async fn in_response(locks: RequestClient, Path(id): Path<u64>) -> Response {
        format!("order {id}").into_response()
    }

    #[distributed_lock(key = "order:{id}", client = locks, wait = "0s")]
    async fn in_result(locks: RequestClient, Path(id): Path<u64>) -> Result<String, LockRejection> {
        Ok(format!("order {id}"))
    }

    fn app(locks: &LockClient) -> Router {
        Router::new()
            .route("/orders/{id}", put(in_response))
            .route("/results/{id}", put(in_result))
            .layer(RequestScopeLayer::new(locks.clone()))
    }

    #[tokio::test]
    async fn a_handler_that_names_its_client_keeps_the_answers() {
        let locks = LockClient::in_memory();
        let app = app(&locks);
        let elsewhere = locks.write("order:7").acquire().await.unwrap();
        let metrics = Metrics::collect();
        let document = call(&app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");
        assert_eq!(document["lock"], "in_response", "no path of modules");
        let refused = metrics.all().into_iter().filter(|metric| {
            let series = &metric.series;
            series.starts_with("lock_requests_total")
                && series.contains("in_response")
                && series.contains("lock-busy")
        });
        assert_eq!(refused.map(|metric| metric.value).sum::<f64>(), 1.0, "counted once");
        assert_eq!(
            (&document["kind"], &document["mode"]),
            (&Kind::ReadWrite.as_str().into(), &Mode::Write.to_string().into())
        );
        call(&app, "PUT", "/results/7").await.assert_problem(423, "lock-busy");
        drop(elsewhere);
        assert_eq!(call(&app, "PUT", "/orders/7").await.text, "order 7");
        assert_eq!(call(&app, "PUT", "/results/7").await.text, "order 7");
    }

    #[cfg(feature = "policy")]
    #[tokio::test]
    async fn the_answer_of_its_rule_applies() {
        let locks = LockClient::in_memory();
        let file = format!(
            "version = 1\n[[policy]]\nname = \"order\"\nmatch = {{ attribute = \"{}::in_response\" }}\n\
             busy_status = 409\nbusy_detail = \"Edited.\"\nbusy_fallback = \"stale\"",
            module_path!()
        );
        let policies = Policies::builder(locks.clone())
            .fallback("stale", async |rejected| {
                let mut answer = rejected.problem();
                answer.headers_mut().insert("x-stale", "yes".parse().unwrap());
                answer
            })
            .parse("locks.toml", &file)
            .unwrap();
        let _elsewhere = locks.write("order:7").acquire().await.unwrap();
        let app = app(&locks).layer(policies.layer());
        let answer = call(&app, "PUT", "/orders/7").await;
        assert_eq!((answer.status.as_u16(), &answer.problem()["detail"]), (409, &"Edited.".into()));
        assert_eq!(answer.headers["x-stale"], "yes");
    }
}
