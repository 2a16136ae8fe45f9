//! Answers of a rule that replace the table of outcomes.

use std::{convert::Infallible, time::Duration};

use axum::{Router, body::Body, routing::put};
use futures_util::stream;
use http::Request;
use lock_tower::{LockClient, Outcome, PrincipalLimit, policies::Policies};

use crate::common::{Answer, call, request};
use crate::policy_fields::policy_service::{KEY, PolicyService, both, file};

async fn busy(world: &PolicyService) -> Answer {
    let _held = world.locks.hold("order:7").await;
    world.put("/orders/7").await
}

#[tokio::test(start_paused = true)]
async fn policy_busy_status() {
    for status in 400..600 {
        let world = PolicyService::new(&file("", &format!("{KEY}\nbusy_status = {status}")));
        let problem = busy(&world).await.assert_problem(status, "lock-busy");
        assert_eq!(problem["status"], status);
    }
    for file in both(r#"busy_status = 409"#) {
        busy(&PolicyService::new(&file)).await.assert_problem(409, "lock-busy");
    }
}

#[tokio::test(start_paused = true)]
async fn policy_busy_detail() {
    for file in both(r#"busy_detail = "Edited.""#) {
        let problem = busy(&PolicyService::new(&file)).await.assert_problem(423, "lock-busy");
        assert_eq!(problem["detail"], "Edited.");
    }
}

#[tokio::test(start_paused = true)]
async fn policy_busy_fallback() {
    for file in both(r#"busy_fallback = "stale""#) {
        let answer = busy(&PolicyService::new(&file)).await;
        assert_eq!((answer.status.as_u16(), &*answer.text), (200, "lock-busy /orders/7"));
    }
}

/// Each member of an answer is inherited by itself.
#[tokio::test(start_paused = true)]
async fn a_rule_and_the_defaults_have_parts_of_one_answer() {
    let defaults = "busy_status = 409\nlost_status = 500\nanswers = { lost = { detail = \"A.\" } }";
    let rule = format!(
        "{KEY}\nbusy_detail = \"Edited.\"\nlost_status = 501\n\
         answers = {{ unavailable = {{ detail = \"B.\" }} }}"
    );
    let mut world = PolicyService::new(&file(defaults, &rule));
    assert_eq!(busy(&world).await.assert_problem(409, "lock-busy")["detail"], "Edited.");
    assert_eq!(lost(&mut world).await.assert_problem(501, "lock-lost")["detail"], "A.");
    world.locks.store_down();
    let problem = world.put("/orders/7").await.assert_problem(503, "lock-unavailable");
    assert_eq!(problem["detail"], "B.");
}

/// The words of an answer, in the rule.
fn words(outcome: &str) -> String {
    file("", &format!("{KEY}\nanswers = {{ {outcome} = {{ detail = \"Tea.\" }} }}"))
}

fn assert_status(answer: &Answer, problem: &str) {
    assert_eq!(answer.assert_problem(418, problem)["status"], 418);
}

fn assert_words(answer: &Answer, outcome: Outcome) {
    let document = answer.assert_problem(outcome.status().as_u16(), outcome.as_str());
    // The text begins with the fault that the client has to correct.
    assert!(document["detail"].as_str().unwrap().ends_with("Tea."), "{document}");
}

#[tokio::test(start_paused = true)]
async fn policy_answers() {
    for file in both(r#"answers = { unavailable = { detail = "Tea." } }"#) {
        let world = PolicyService::new(&file);
        world.locks.store_down();
        let problem = world.put("/orders/7").await.assert_problem(503, "lock-unavailable");
        assert_eq!(problem["detail"], "Tea.");
    }
}

async fn lost(world: &mut PolicyService) -> Answer {
    let request = world.at_work().await;
    assert_eq!(world.locks.lose("order:7"), 1);
    request.await.unwrap()
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

const REFUSED: &str = "wait = \"20s\"\nrefuse_deadlock = true";

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

async fn overloaded(file: &str) -> Answer {
    let mut request = request("PUT", "/orders/7");
    request.headers_mut().insert("x-ms", "0".parse().unwrap());
    PolicyService::new(file).send(request).await
}

#[tokio::test(start_paused = true)]
async fn policy_overloaded_status() {
    for file in both(r#"overloaded_status = 418"#) {
        assert_status(&overloaded(&file).await, "lock-overloaded");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_overloaded() {
    assert_words(&overloaded(&words("overloaded")).await, Outcome::Overloaded);
}

async fn unavailable(file: &str) -> Answer {
    let world = PolicyService::new(file);
    world.locks.store_down();
    world.put("/orders/7").await
}

#[tokio::test(start_paused = true)]
async fn policy_unavailable_status() {
    for file in both(r#"unavailable_status = 418"#) {
        assert_status(&unavailable(&file).await, "lock-unavailable");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_unavailable() {
    assert_words(&unavailable(&words("unavailable")).await, Outcome::Unavailable);
}

async fn draining(file: &str) -> Answer {
    let world = PolicyService::new(file);
    world.locks.client().shutdown(crate::common::NEVER).await.unwrap();
    world.put("/orders/7").await
}

#[tokio::test(start_paused = true)]
async fn policy_draining_status() {
    for file in both(r#"draining_status = 418"#) {
        assert_status(&draining(&file).await, "lock-draining");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_draining() {
    assert_words(&draining(&words("draining")).await, Outcome::Draining);
}

async fn key_missing(file: &str) -> Answer {
    let file = file.replace("{id}", "{query.q}");
    PolicyService::new(&file).put("/orders/7").await
}

#[tokio::test(start_paused = true)]
async fn policy_key_missing_status() {
    for file in both(r#"key_missing_status = 418"#) {
        assert_status(&key_missing(&file).await, "lock-key-missing");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_key_missing() {
    assert_words(&key_missing(&words("key_missing")).await, Outcome::KeyMissing);
}

async fn key_invalid(file: &str) -> Answer {
    let file = file.replace("{id}", "{id:u64}");
    PolicyService::new(&file).put("/orders/seven").await
}

#[tokio::test(start_paused = true)]
async fn policy_key_invalid_status() {
    for file in both(r#"key_invalid_status = 418"#) {
        assert_status(&key_invalid(&file).await, "lock-key-invalid");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_key_invalid() {
    assert_words(&key_invalid(&words("key_invalid")).await, Outcome::KeyInvalid);
}

async fn deadline_invalid(file: &str) -> Answer {
    let mut request = request("PUT", "/orders/7");
    request.headers_mut().insert("x-ms", "soon".parse().unwrap());
    PolicyService::new(file).send(request).await
}

#[tokio::test(start_paused = true)]
async fn policy_deadline_invalid_status() {
    for file in both(r#"deadline_invalid_status = 418"#) {
        assert_status(&deadline_invalid(&file).await, "lock-deadline-invalid");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_deadline_invalid() {
    assert_words(&deadline_invalid(&words("deadline_invalid")).await, Outcome::DeadlineInvalid);
}

async fn body_too_large(file: &str) -> Answer {
    let request = Request::put("/orders/7").body("x".repeat(3_000_000).into()).unwrap();
    PolicyService::new(file).send(request).await
}

#[tokio::test(start_paused = true)]
async fn policy_body_too_large_status() {
    for file in both(r#"body_too_large_status = 418"#) {
        assert_status(&body_too_large(&file).await, "lock-body-too-large");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_body_too_large() {
    assert_words(&body_too_large(&words("body_too_large")).await, Outcome::BodyTooLarge);
}

async fn body_timeout(file: &str) -> Answer {
    let body = Body::from_stream(stream::pending::<Result<&str, Infallible>>());
    let request = Request::put("/orders/7").body(body).unwrap();
    PolicyService::new(file).send(request).await
}

#[tokio::test(start_paused = true)]
async fn policy_body_timeout_status() {
    for file in both(r#"body_timeout_status = 418"#) {
        assert_status(&body_timeout(&file).await, "lock-body-timeout");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_body_timeout() {
    assert_words(&body_timeout(&words("body_timeout")).await, Outcome::BodyTimeout);
}

async fn over_limit(file: &str) -> Answer {
    let policies = Policies::builder(LockClient::in_memory())
        .limit_principals(PrincipalLimit::new(0, |_| Some("jane".to_owned())))
        .parse("locks.toml", file)
        .unwrap();
    let app = Router::new().route("/orders/{id}", put(|| async { "done" }));
    call(&app.route_layer(policies.layer()), "PUT", "/orders/7").await
}

#[tokio::test(start_paused = true)]
async fn policy_over_limit_status() {
    for file in both(r#"over_limit_status = 418"#) {
        assert_status(&over_limit(&file).await, "lock-over-limit");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_over_limit() {
    assert_words(&over_limit(&words("over_limit")).await, Outcome::OverLimit);
}

async fn misconfigured(file: &str) -> Answer {
    let file = file.replace("{id}", "{ext.tenant}");
    PolicyService::new(&file).put("/orders/7").await
}

#[tokio::test(start_paused = true)]
async fn policy_misconfigured_status() {
    for file in both(r#"misconfigured_status = 418"#) {
        assert_status(&misconfigured(&file).await, "lock-misconfigured");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_misconfigured() {
    assert_words(&misconfigured(&words("misconfigured")).await, Outcome::Misconfigured);
}

#[tokio::test(start_paused = true)]
async fn policy_lost_status() {
    for file in both(r#"lost_status = 418"#) {
        assert_status(&lost(&mut PolicyService::new(&file)).await, "lock-lost");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_lost() {
    assert_words(&lost(&mut PolicyService::new(&words("lost"))).await, Outcome::Lost);
}

#[tokio::test(start_paused = true)]
async fn policy_deadlock_status() {
    for file in both(r#"deadlock_status = 418"#) {
        let file = file.replace(KEY, &format!("{KEY}\n{REFUSED}"));
        assert_status(&in_a_circle(&file).await, "lock-deadlock");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_deadlock() {
    let file = words("deadlock").replace(KEY, &format!("{KEY}\n{REFUSED}"));
    assert_words(&in_a_circle(&file).await, Outcome::Deadlock);
}

const REPLACED: &str = "on_busy = \"replace\"\nreplace_by = \"anyone\"";

/// The answer to a request at work that another one replaces.
async fn replaced(file: &str) -> Answer {
    let mut world = PolicyService::new(&file.replace(KEY, &format!("{KEY}\n{REPLACED}")));
    let request = world.at_work().await;
    assert_eq!(world.put("/orders/7").await.status, 200);
    request.await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn policy_replaced_status() {
    for file in both(r#"replaced_status = 418"#) {
        assert_status(&replaced(&file).await, "lock-replaced");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_replaced() {
    assert_words(&replaced(&words("replaced")).await, Outcome::Replaced);
}

/// The answer to a request that is skipped.
async fn skipped(file: &str) -> Answer {
    busy(&PolicyService::new(&file.replace(KEY, &format!("{KEY}\non_busy = \"skip\"")))).await
}

#[tokio::test(start_paused = true)]
async fn policy_skipped_status() {
    for file in both(r#"skipped_status = 418"#) {
        assert_status(&skipped(&file).await, "lock-skipped");
    }
    for status in [200, 202, 302, 599] {
        let file = file("", &format!("{KEY}\nskipped_status = {status}"));
        skipped(&file).await.assert_problem(status, "lock-skipped");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_skipped() {
    assert_words(&skipped(&words("skipped")).await, Outcome::Skipped);
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
