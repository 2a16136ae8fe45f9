use std::{convert::Infallible, future::Future, pin::pin};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use lock_core::{__private::ValueError, LockKey};
use lock_policy::{__private::RequestKeys, KeyRejection};
use tracing::Instrument;

use super::{
    client::{ClientHandle, no_client},
    declared::DeclaredLock,
};
use crate::{
    outcome::caller::Caller,
    pipeline::{
        body::LockBody,
        missing_key::keys_of,
        pending_locks::PendingLocks,
        reject,
        serve::{complete, run_under_lock},
    },
};

/// Runs a handler's body under its attribute's locks.
///
/// # Cancel safety
///
/// Dropping the future drops the body and releases the locks in the background.
pub async fn run_handler<F, Form>(
    handle: impl Into<ClientHandle>,
    lock: &DeclaredLock,
    keys: impl IntoIterator<Item = Result<String, ValueError>>,
    principal: Option<Result<String, ValueError>>,
    body: F,
) -> Response
where
    F: Future<Output: HandlerOutput<Form>>,
{
    let handle = handle.into();
    let rules = handle.context.as_ref().and_then(|context| context.attributes.as_ref());
    let (policy, mode) = lock.in_force(rules);
    let request = handle.request;
    let Some(context) = handle.context else {
        let rejection = policy.reject(mode, no_client(&Caller::none()));
        return reject::answer(rejection, request).await.map(Body::from);
    };
    let enforce = policy.enforce();
    let (keys, limited) = match principal.transpose() {
        Ok(principal) => (lock_keys(lock, keys), principal.and_then(|name| lock.limited(name))),
        Err(invalid) => (Err(invalid.into()), None),
    };
    let keys = match keys_of(&policy, mode, enforce, &context.caller, keys) {
        Ok(keys) => keys,
        Err(rejection) => return reject::answer(rejection, request).await.map(Body::from),
    };
    let client = context.client.clone();
    lock.warn_of_steps(&client, &policy, &keys);
    let pending = PendingLocks {
        policy,
        client,
        keys,
        mode,
        enforce,
        path: None,
        slot: handle.slot,
        limited,
    };
    let answer = match pending.enter(&context).await {
        Ok((mut held, inside)) => {
            let span = held.span();
            let body = body.map(|output| Ok::<_, Infallible>(output.into_answer()));
            let work = pin!(inside.run(body).fuse());
            let done = run_under_lock(&mut held, work).instrument(span.clone()).await;
            let request = request.map(Box::new);
            complete(held, request, done).instrument(span).await
        }
        Err(rejection) => Ok(reject::answer(rejection, request).await.map(LockBody::ours)),
    };
    match answer {
        Ok(answer) => answer.map(Body::new),
        Err(never) => match never {},
    }
}

/// The return type of a handler under an attribute. `Form` makes two implementations possible: with one alone
/// the compiler would report the missing `IntoResponse`, and not this message.
#[diagnostic::on_unimplemented(
    message = "a handler under `#[distributed_lock]` cannot return `{Self}`",
    label = "a type that implements `IntoResponse` is needed here",
    note = "without `client = ..` the function is an Axum handler; if it is not, name its client, such as `client = locks`"
)]
pub trait HandlerOutput<Form> {
    /// Returns the response.
    fn into_answer(self) -> Response;
}

/// The form of a response.
#[derive(Debug)]
pub struct OfHandler;

impl<T: IntoResponse> HandlerOutput<OfHandler> for T {
    fn into_answer(self) -> Response {
        self.into_response()
    }
}

/// The form of nothing that exists.
#[derive(Debug)]
pub struct OfNothing;

impl<T: Into<OfNothing> + IntoResponse> HandlerOutput<OfNothing> for T {
    fn into_answer(self) -> Response {
        self.into_response()
    }
}

/// Returns the attribute's keys. Their values come from the request, so an invalid one is the
/// client's fault.
fn lock_keys(
    lock: &DeclaredLock,
    keys: impl IntoIterator<Item = Result<String, ValueError>>,
) -> Result<RequestKeys, KeyRejection> {
    lock.keys(keys.into_iter().map(|key| Ok(LockKey::try_from(key?)?)))
}
