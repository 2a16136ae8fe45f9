//! The answers of locked routes in an OpenAPI document are those that requests get.

use axum::{Router, extract::Path, routing::put};
use http::StatusCode;
use lock_tower::{
    LockClient, Outcome, RequestLockLayer, RequestScopeLayer, distributed_lock,
    openapi::LockResponses, policies::Policies, settings::OnBusy,
};
use serde_json::Value;
use utoipa::{
    OpenApi,
    openapi::path::{Operation, OperationBuilder},
};

use crate::common::call;

#[utoipa::path(
    put,
    path = "/orders/{id}",
    params(("id" = u64, Path)),
    responses((status = 200, description = "changed"), LockResponses)
)]
#[distributed_lock(key = "order:{id}", name = "order", wait = "0s")]
async fn update(Path(id): Path<u64>) -> String {
    format!("order {id}")
}

#[utoipa::path(
    put,
    path = "/reports/{id}",
    responses((status = 200, description = "rewritten"), (status = 429, description = "too often"))
)]
#[allow(dead_code, reason = "what is documented is its path")]
async fn rewrite() {}

#[utoipa::path(get, path = "/free", responses((status = 200, description = "never locked")))]
#[allow(dead_code, reason = "what is documented is its path")]
async fn free() {}

#[derive(OpenApi)]
#[openapi(paths(update, rewrite, free))]
struct Api;

/// The responses of an operation, by status.
fn responses(document: &Value, path: &str, method: &str) -> serde_json::Map<String, Value> {
    let responses = &document["paths"][path][method]["responses"];
    responses.as_object().unwrap_or_else(|| panic!("{document:#}")).clone()
}

/// The document of this outcome among the examples of a response.
fn example(response: &Value, outcome: Outcome) -> &Value {
    let content = &response["content"]["application/problem+json"];
    let example = &content["examples"][outcome.as_str()]["value"];
    assert!(example.is_object(), "{outcome:?}: {response:#}");
    example
}

fn statuses(responses: &serde_json::Map<String, Value>) -> Vec<&str> {
    let mut statuses: Vec<&str> = responses.keys().map(String::as_str).collect();
    statuses.sort_unstable();
    statuses
}

#[tokio::test]
async fn an_attributes_answer_is_its_example() {
    let document = serde_json::to_value(Api::openapi()).unwrap();
    let documented = responses(&document, "/orders/{id}", "put");
    assert_eq!(statuses(&documented), ["200", "400", "423", "500", "503"]);

    let locks = LockClient::in_memory();
    let _guard = locks.write("order:7").acquire().await.unwrap();
    let app = Router::new()
        .route("/orders/{id}", put(update))
        .layer(RequestScopeLayer::new(locks.clone()));
    let given = call(&app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");
    let documented = &documented["423"];
    let example = example(documented, Outcome::Busy);
    for member in ["type", "title", "status", "detail", "executed"] {
        assert_eq!(given[member], example[member], "{member}");
    }
    // Every member of the answer is in the schema.
    let schema = &documented["content"]["application/problem+json"]["schema"]["properties"];
    for member in given.as_object().unwrap().keys() {
        assert!(schema[member].is_object(), "{member}: {schema:#}");
    }
    assert!(documented["headers"]["retry-after"].is_object(), "{documented:#}");
}

#[test]
fn every_outcome_is_documented_under_its_status() {
    let document = serde_json::to_value(Api::openapi()).unwrap();
    let documented = responses(&document, "/orders/{id}", "put");
    for outcome in Outcome::ALL {
        let of_layers_alone = matches!(
            outcome,
            Outcome::OverLimit
                | Outcome::DeadlineInvalid
                | Outcome::BodyTooLarge
                | Outcome::BodyTimeout
                | Outcome::Skipped
                | Outcome::Deadlock
                | Outcome::Replaced
        );
        if !of_layers_alone {
            let response = &documented[outcome.status().as_str()];
            assert_eq!(example(response, outcome)["status"], outcome.status().as_u16());
        }
    }
}

fn of_layer(lock: &RequestLockLayer) -> serde_json::Map<String, Value> {
    let mut operation: Operation = OperationBuilder::new().build();
    lock.add_responses(&http::Method::PUT, &mut operation);
    serde_json::to_value(operation).unwrap()["responses"].as_object().unwrap().clone()
}

#[test]
fn a_layer_documents_what_can_happen_under_it() {
    let lock = || RequestLockLayer::new(LockClient::in_memory(), "tenant:{header.x}").unwrap();
    let plain = of_layer(&lock());
    assert_eq!(statuses(&plain), ["400", "408", "413", "423", "500", "503"]);
    example(&plain["400"], Outcome::KeyMissing);
    assert!(!plain["400"].to_string().contains("lock-deadline-invalid"));

    let refuses = of_layer(&lock().refuse_deadlock(true));
    example(&refuses["409"], Outcome::Deadlock);
    let replaces = of_layer(&lock().on_busy(OnBusy::Replace).replace_by("header.x"));
    example(&replaces["409"], Outcome::Replaced);

    let skips = || lock().on_busy(OnBusy::Skip);
    let skipped = of_layer(&skips());
    assert_eq!(statuses(&skipped), ["400", "408", "409", "413", "500", "503"]);
    example(&skipped["409"], Outcome::Skipped);
    let silent = of_layer(&skips().answer_status(Outcome::Skipped, http::StatusCode::NO_CONTENT));
    assert_eq!(silent["204"]["content"], Value::Null, "{silent:#?}");

    // A request that reads has its body read too.
    let mut read: Operation = OperationBuilder::new().build();
    lock().add_responses(&http::Method::GET, &mut read);
    let read = serde_json::to_value(read).unwrap();
    for (status, outcome) in [("408", Outcome::BodyTimeout), ("413", Outcome::BodyTooLarge)] {
        example(&read["responses"][status], outcome);
    }
    let streamed = of_layer(&lock().body(lock_tower::settings::RequestBody::Stream));
    assert_eq!(statuses(&streamed), ["400", "423", "500", "503"]);

    let header = http::HeaderName::from_static("x-ms");
    let with_header = of_layer(&lock().deadline_header(header));
    example(&with_header["400"], Outcome::DeadlineInvalid);

    // A function answers in another way, which it alone knows.
    let answered = of_layer(&lock().answer(Outcome::Busy, async |_| http::Response::default()));
    assert_eq!(statuses(&answered), ["400", "408", "413", "500", "503"]);

    // The status that the layer sets, and nothing under the table's.
    for (outcome, status) in [(Outcome::Busy, 409), (Outcome::KeyMissing, 422)] {
        let changed = StatusCode::from_u16(status).unwrap();
        let documented = of_layer(&lock().answer_status(outcome, changed));
        assert_eq!(example(&documented[changed.as_str()], outcome)["status"], status);
        let before = &documented.get(outcome.status().as_str());
        assert!(before.is_none_or(|other| !other.to_string().contains(outcome.as_str())));
    }

    let fixed = RequestLockLayer::with_key(LockClient::in_memory(), |_| Ok("report"));
    let shadow = of_layer(&fixed.enforce(lock_tower::Enforce::Shadow));
    assert_eq!(statuses(&shadow), Vec::<&str>::new());
}

const FILE: &str = r#"version = 1
[defaults]
wait = "0s"
[[policy]]
name = "report"
match = { path = "/reports/{id}", methods = ["PUT"] }
key = "report:{id}"
busy_status = 429
busy_detail = "Reports are rewritten one at a time."
"#;

#[tokio::test]
async fn a_policy_files_answers_are_in_each_operation() {
    let locks = LockClient::in_memory();
    let policies = Policies::builder(locks.clone()).parse("locks.toml", FILE).unwrap();
    let mut document = Api::openapi();
    policies.add_responses(&mut document);
    let document = serde_json::to_value(document).unwrap();
    let documented = responses(&document, "/reports/{id}", "put");
    assert_eq!(statuses(&documented), ["200", "400", "408", "413", "429", "500", "503"]);
    // The service's own text for this status stays.
    assert_eq!(documented["429"]["description"], "too often");

    let _guard = locks.write("report:7").acquire().await.unwrap();
    let app = Router::new()
        .route("/reports/{id}", put(async || StatusCode::OK))
        .route_layer(policies.layer());
    let given = call(&app, "PUT", "/reports/7").await.assert_problem(429, "lock-busy");
    let example = example(&documented["429"], Outcome::Busy);
    for member in ["type", "detail", "lock", "kind", "mode", "status"] {
        assert_eq!(given[member], example[member], "{member}");
    }

    assert_eq!(statuses(&responses(&document, "/free", "get")), ["200"]);
}
