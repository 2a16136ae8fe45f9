//! Answers of a rule that replace the table of outcomes.

use std::{convert::Infallible, time::Duration};

use axum::{Router, body::Body, routing::put};
use futures_util::stream;
use http::Request;
use lock_tower::{LockClient, PrincipalLimit, policies::Policies};

use crate::common::{Answer, call, request};
use crate::policy_fields::policy_service::{KEY, PolicyService, both, file};

async fn busy(world: &PolicyService) -> Answer {
    let _held = world.locks.hold("order:7").await;
    world.put("/orders/7").await
}

#[tokio::test(start_paused = true)]
async fn policy_on_busy() {
    for file in both(r#"on_busy = { status = 409, detail = "Edited." }"#) {
        let problem = busy(&PolicyService::new(&file)).await.assert_problem(409, "lock-busy");
        assert_eq!(problem["detail"], "Edited.");
    }
}

#[tokio::test(start_paused = true)]
async fn on_busy_status() {
    for status in [423, 409, 429, 503] {
        let world =
            PolicyService::new(&file("", &format!("{KEY}\non_busy = {{ status = {status} }}")));
        busy(&world).await.assert_problem(status, "lock-busy");
    }
}

#[tokio::test(start_paused = true)]
async fn on_busy_detail() {
    let world =
        PolicyService::new(&file("", &format!("{KEY}\non_busy = {{ detail = \"Edited.\" }}")));
    assert_eq!(busy(&world).await.assert_problem(423, "lock-busy")["detail"], "Edited.");
}

#[tokio::test(start_paused = true)]
async fn on_busy_fallback() {
    let world =
        PolicyService::new(&file("", &format!("{KEY}\non_busy = {{ fallback = \"stale\" }}")));
    let answer = busy(&world).await;
    assert_eq!((answer.status.as_u16(), &*answer.text), (200, "lock-busy /orders/7"));
}

/// The service that answers `outcome` with 418 and its own words.
fn answering(outcome: &str, key: &str) -> PolicyService {
    let answers = format!("answers = {{ {outcome} = {{ status = 418, detail = \"Tea.\" }} }}");
    PolicyService::new(&file("", &format!("key = \"{key}\"\n{answers}")))
}

fn assert_tea(answer: &Answer, problem: &str) {
    let document = answer.assert_problem(418, problem);
    // The text begins with the fault that the client has to correct.
    assert!(document["detail"].as_str().unwrap().ends_with("Tea."), "{document}");
}

#[tokio::test(start_paused = true)]
async fn policy_answers() {
    for file in both(r#"answers = { unavailable = { status = 418, detail = "Tea." } }"#) {
        let world = PolicyService::new(&file);
        world.locks.store_down();
        assert_tea(&world.put("/orders/7").await, "lock-unavailable");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_overloaded() {
    let mut request = request("PUT", "/orders/7");
    request.headers_mut().insert("x-ms", "0".parse().unwrap());
    let answer = answering("overloaded", "order:{id}").send(request).await;
    assert_tea(&answer, "lock-overloaded");
}

#[tokio::test(start_paused = true)]
async fn answers_unavailable() {
    let world = answering("unavailable", "order:{id}");
    world.locks.store_down();
    assert_tea(&world.put("/orders/7").await, "lock-unavailable");
}

#[tokio::test(start_paused = true)]
async fn answers_draining() {
    let world = answering("draining", "order:{id}");
    world.locks.client().shutdown(crate::common::NEVER).await.unwrap();
    assert_tea(&world.put("/orders/7").await, "lock-draining");
}

async fn lost(world: &mut PolicyService) -> Answer {
    let request = world.at_work().await;
    assert_eq!(world.locks.lose("order:7"), 1);
    request.await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn answers_lost() {
    assert_tea(&lost(&mut answering("lost", "order:{id}")).await, "lock-lost");
}

#[tokio::test(start_paused = true)]
async fn answers_key_missing() {
    let answer = answering("key_missing", "order:{query.q}").put("/orders/7").await;
    assert_tea(&answer, "lock-key-missing");
}

#[tokio::test(start_paused = true)]
async fn answers_key_invalid() {
    let answer = answering("key_invalid", "order:{id:u64}").put("/orders/seven").await;
    assert_tea(&answer, "lock-key-invalid");
}

#[tokio::test(start_paused = true)]
async fn answers_deadline_invalid() {
    let mut request = request("PUT", "/orders/7");
    request.headers_mut().insert("x-ms", "soon".parse().unwrap());
    let answer = answering("deadline_invalid", "order:{id}").send(request).await;
    assert_tea(&answer, "lock-deadline-invalid");
}

#[tokio::test(start_paused = true)]
async fn answers_body_too_large() {
    let request = Request::put("/orders/7").body("x".repeat(3_000_000).into()).unwrap();
    let answer = answering("body_too_large", "order:{id}").send(request).await;
    assert_tea(&answer, "lock-body-too-large");
}

#[tokio::test(start_paused = true)]
async fn answers_body_timeout() {
    let body = Body::from_stream(stream::pending::<Result<&str, Infallible>>());
    let request = Request::put("/orders/7").body(body).unwrap();
    let answer = answering("body_timeout", "order:{id}").send(request).await;
    assert_tea(&answer, "lock-body-timeout");
}

/// The answer to a request whose scope holds what the holder of its lock waits for.
async fn in_a_circle(file: &str) -> Answer {
    let world = PolicyService::new(file);
    let locks = world.locks.client();
    let (scope, other) = (locks.scope(), locks.scope());
    let _held = scope.write("stock:7").acquire().await.unwrap();
    let _others = other.write("order:7").acquire().await.unwrap();
    let waits = tokio::spawn(other.write("stock:7").wait(Duration::from_secs(60)).acquire());
    // Until it is written down since when the other waits, by the clock of the host, which no test
    // pauses: the request is to be the last.
    tokio::time::sleep(Duration::from_millis(600)).await;
    std::thread::sleep(Duration::from_millis(5));
    let answer = scope.run(call(&world.app, "PUT", "/orders/7")).await;
    assert!(!waits.is_finished());
    answer
}

#[tokio::test(start_paused = true)]
async fn policy_refuse_deadlock() {
    let wait = "wait = \"20s\"";
    for file in both(r#"refuse_deadlock = true"#) {
        in_a_circle(&file.replace(KEY, &format!("{KEY}\n{wait}")))
            .await
            .assert_problem(409, "lock-deadlock");
    }
    let waits = file("", &format!("{KEY}\n{wait}"));
    in_a_circle(&waits).await.assert_problem(423, "lock-busy");
}

#[tokio::test(start_paused = true)]
async fn answers_deadlock() {
    let answers = r#"answers = { deadlock = { status = 418, detail = "Tea." } }"#;
    let rule = format!("{KEY}\nwait = \"20s\"\nrefuse_deadlock = true\n{answers}");
    assert_tea(&in_a_circle(&file("", &rule)).await, "lock-deadlock");
}

#[tokio::test(start_paused = true)]
async fn answers_over_limit() {
    let file = r#"answers = { over_limit = { status = 418, detail = "Tea." } }"#;
    let policies = Policies::builder(LockClient::in_memory())
        .limit_principals(PrincipalLimit::new(0, |_| Some("jane".to_owned())))
        .parse("locks.toml", &crate::policy_fields::policy_service::file(file, KEY))
        .unwrap();
    let app = Router::new().route("/orders/{id}", put(|| async { "done" }));
    let app = app.route_layer(policies.layer());
    assert_tea(&call(&app, "PUT", "/orders/7").await, "lock-over-limit");
}

#[tokio::test(start_paused = true)]
async fn answers_misconfigured() {
    let answer = answering("misconfigured", "order:{ext.tenant}").put("/orders/7").await;
    assert_tea(&answer, "lock-misconfigured");
}

#[tokio::test(start_paused = true)]
async fn answer_status() {
    let rule = format!("{KEY}\nanswers = {{ lost = {{ status = 500 }} }}");
    lost(&mut PolicyService::new(&file("", &rule))).await.assert_problem(500, "lock-lost");
}

#[tokio::test(start_paused = true)]
async fn answer_detail() {
    let rule = format!("{KEY}\nanswers = {{ lost = {{ detail = \"Gone.\" }} }}");
    let answer = lost(&mut PolicyService::new(&file("", &rule))).await;
    assert_eq!(answer.assert_problem(503, "lock-lost")["detail"], "Gone.");
}

#[tokio::test(start_paused = true)]
async fn answer_fallback() {
    let rule = format!("{KEY}\nanswers = {{ lost = {{ fallback = \"stale\" }} }}");
    let answer = lost(&mut PolicyService::new(&file("", &rule))).await;
    assert_eq!((answer.status.as_u16(), &*answer.text), (200, "lock-lost /work/7"));
    // It has no effect on another outcome.
    let world = PolicyService::new(&file("", &rule));
    world.locks.store_down();
    call(&world.app, "PUT", "/orders/7").await.assert_problem(503, "lock-unavailable");
}
