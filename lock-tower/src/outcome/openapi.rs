//! OpenAPI: the answers that a locked route can give, beside its handler's.
//!
//! With the feature `utoipa`, from the table that also gives the answers:
//!
//! - of an attribute, and of a layer with the default answers: [`LockResponses`] among the
//!   `responses` of an operation. It does not know the statuses that an attribute sets;
//! - of a layer with custom answers:
//!   [`RequestLockLayer::add_responses`](crate::RequestLockLayer::add_responses);
#![cfg_attr(
    feature = "policy",
    doc = "- of all rules of a policy file: `Policies::add_responses`."
)]
//!
//! A response that a handler documents under the same status keeps its description; the problem
//! document is added to its contents. An outcome that a function answers is left out: the function
//! knows what it answers. `lock-deadlock` is among them where the layer or the file sets
//! `refuse_deadlock`, not where the client does.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use http::{
    Response as HttpResponse,
    header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER},
};
use lock_policy::Outcome;
use serde_json::{Value, json};
use utoipa::{
    IntoResponses,
    openapi::{
        ContentBuilder, Header, ObjectBuilder, RefOr, Response, ResponseBuilder, Responses, Type,
        example::ExampleBuilder, path::Operation,
    },
};

use super::{
    caller::Caller,
    problem::problem,
    rejection::Rejection,
    table::{Retry, row},
};

const PROBLEM: &str = "application/problem+json";
/// The examples' time until a retry; that of an answer has jitter.
const EXAMPLE_OF_RETRY: Duration = Duration::from_secs(1);

/// The responses that a locked route can give, with their default statuses.
///
/// # Examples
///
/// ```
/// use lock_tower::openapi::LockResponses;
/// use utoipa::OpenApi;
///
/// #[utoipa::path(
///     put,
///     path = "/orders/{id}",
///     params(("id" = u64, Path)),
///     responses((status = 200, description = "changed"), LockResponses)
/// )]
/// async fn update() {}
///
/// #[derive(OpenApi)]
/// #[openapi(paths(update))]
/// struct Api;
///
/// let document = Api::openapi().to_json()?;
/// assert!(document.contains("lock-busy"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct LockResponses;

impl IntoResponses for LockResponses {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let every = Outcome::ALL.into_iter().filter(|outcome| {
            // Of a limit and of a header that only some layers have, of a body that only a layer
            // reads, and of settings that are off.
            !matches!(
                outcome,
                Outcome::OverLimit
                    | Outcome::DeadlineInvalid
                    | Outcome::BodyTooLarge
                    | Outcome::BodyTimeout
                    | Outcome::Skipped
                    | Outcome::Deadlock
                    | Outcome::Replaced
            )
        });
        responses(every.map(|outcome| Rejection::new(outcome, &Caller::none()))).responses
    }
}

/// Adds the answers to these rejections to an operation.
pub(crate) fn add(operation: &mut Operation, rejections: impl IntoIterator<Item = Rejection>) {
    for (status, ours) in responses(rejections).responses {
        match operation.responses.responses.get_mut(&status) {
            None => _ = operation.responses.responses.insert(status, ours),
            Some(RefOr::T(theirs)) => {
                let RefOr::T(ours) = ours else { continue };
                for (name, content) in ours.content {
                    theirs.content.entry(name).or_insert(content);
                }
                for (name, header) in ours.headers {
                    theirs.headers.entry(name).or_insert(header);
                }
            }
            // A response that several operations share is the service's own.
            Some(RefOr::Ref(_)) => {}
        }
    }
}

/// Returns the answers to these rejections, by status.
fn responses(rejections: impl IntoIterator<Item = Rejection>) -> Responses {
    let mut by_status = BTreeMap::<u16, Vec<(Outcome, HttpResponse<Bytes>)>>::new();
    for rejection in rejections {
        let outcome = rejection.outcome;
        let retry = !matches!(row(outcome).retry, Retry::Never);
        let answer = problem(&rejection, retry.then_some(EXAMPLE_OF_RETRY));
        by_status.entry(answer.status().as_u16()).or_default().push((outcome, answer));
    }
    let responses = by_status.into_iter();
    responses.map(|(status, answers)| (status.to_string(), response(&answers))).collect()
}

fn response(answers: &[(Outcome, HttpResponse<Bytes>)]) -> Response {
    let titles: Vec<String> = answers
        .iter()
        .map(|(outcome, _)| format!("`{}`: {}", outcome.as_str(), row(*outcome).title))
        .collect();
    let mut response = ResponseBuilder::new().description(titles.join("; "));
    for name in [RETRY_AFTER, CONNECTION] {
        if answers.iter().any(|(_, answer)| answer.headers().contains_key(&name)) {
            let of = match name {
                RETRY_AFTER => "whole seconds until the request may be repeated",
                _ => "`close`: the next request takes another connection",
            };
            let ty = if name == RETRY_AFTER { Type::Integer } else { Type::String };
            let mut header = Header::new(ObjectBuilder::new().schema_type(ty).build());
            header.description = Some(of.to_owned());
            response = response.header(name.as_str(), header);
        }
    }
    // A status such as 204 has no document.
    let answers: Vec<_> = answers.iter().filter(|(_, answer)| !answer.body().is_empty()).collect();
    if answers.is_empty() {
        return response.build();
    }
    let mut content = ContentBuilder::new().schema(Some(schema(&answers)));
    for (outcome, answer) in answers {
        debug_assert_eq!(answer.headers()[CONTENT_TYPE], PROBLEM);
        let document: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let example = ExampleBuilder::new().value(Some(document)).build();
        content = content.examples_from_iter([(outcome.as_str(), example)]);
    }
    response.content(PROBLEM, content.build()).build()
}

/// The schema of a problem document: the members of [`problem`], each with its type.
fn schema(answers: &[&(Outcome, HttpResponse<Bytes>)]) -> ObjectBuilder {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let integer = || ObjectBuilder::new().schema_type(Type::Integer);
    let types = answers
        .iter()
        .map(|(outcome, _)| json!(format!("urn:lock-tower:problem:{}", outcome.as_str())));
    let executed = ObjectBuilder::new()
        .enum_values(Some([json!(false), json!(true), json!("unknown")]))
        .description(Some("whether the handler ran"));
    ObjectBuilder::new()
        .property("type", text().enum_values(Some(types.collect::<Vec<_>>())))
        .required("type")
        .property("title", text())
        .required("title")
        .property("status", integer())
        .required("status")
        .property("detail", text())
        .required("detail")
        .property("executed", executed)
        .required("executed")
        .property("lock", text().description(Some("the lock's name, never its key")))
        .property("busy", text().description(Some("which of several locks was busy: its template")))
        .property("kind", text())
        .property("mode", text())
        .property("permits", integer().description(Some("how many a semaphore has")))
        .property("retry_after_ms", integer())
        .property("request_id", text())
}
