//! The one path by which a layer works on a request under its lock.

use std::{
    future::Future,
    panic,
    pin::{Pin, pin},
    sync::Arc,
};

use bytes::Bytes;
use futures_util::{FutureExt, future::Fuse};
use http::{HeaderName, HeaderValue, Request, Response, request::Parts};
use http_body::Body;
use lock_core::Lost;
use lock_policy::{HoldUntil, OnDisconnect, Outcome, Unlocked};
use tower_service::Service;
use tracing::Instrument;

use super::{body::LockBody, pending_locks::PendingLocks, reject, request_hold::RequestHold};
use crate::{outcome::rejection::Rejection, request::context::RequestContext};

/// Says of an answer that its request had no lock, or not to the end: `open`, `local` or `lost`.
pub(crate) const DEGRADED: HeaderName = HeaderName::from_static("lock-degraded");

/// Asks for the locks and has `inner` work on the request.
pub(crate) async fn serve<S, B, R>(
    asked: PendingLocks,
    context: RequestContext,
    mut inner: S,
    mut parts: Parts,
    body: B,
) -> Result<Response<LockBody<R>>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>> + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    B: Send + 'static,
    R: Body + Send + 'static,
{
    let (policy, slot) = (Arc::clone(&asked.policy), asked.slot.clone());
    let (mut held, inside) = match asked.enter(&context).await {
        Ok(entered) => entered,
        Err(rejection) => {
            return Ok(reject::answer(rejection, Some(parts)).await.map(LockBody::ours));
        }
    };
    // What a handler had is gone with it; a function that answers for a lost lock needs a copy.
    let kept = policy.fallbacks.contains_key(&Outcome::Lost).then(|| parts.clone());
    parts.extensions.insert(inside.clone());
    parts.extensions.insert(slot);
    let span = held.span();
    let request = Request::from_parts(parts, body);
    let done = async move {
        // The scope is ambient for `call` too: a service may do its work before its future does.
        let work = inside.run(async move { inner.call(request).await });
        let work = pin!(work.fuse());
        let done = run_under_lock(&mut held, work).await;
        complete(held, kept, done).await
    }
    .instrument(span);
    match policy.settings.on_disconnect.unwrap_or_default() {
        OnDisconnect::Finish => detach(done).await,
        _ => done.await,
    }
}

/// Runs the work under what is held, which stays with the caller, who has it since before the work:
/// so the work is dropped before its lock, whoever drops them. Work is handed on pinned: each async
/// function that took it by value would have room for it twice.
pub(crate) async fn run_under_lock<T>(
    held: &mut RequestHold,
    mut work: Pin<&mut Fuse<impl Future<Output = T>>>,
) -> Result<T, Lost> {
    let done = held.run(work.as_mut()).await;
    // Gone before its lock is.
    work.set(Fuse::terminated());
    done
}

/// The answer of the work, or that for a lost lock.
pub(crate) async fn complete<R: Body, E>(
    mut held: RequestHold,
    request: Option<Parts>,
    done: Result<Result<Response<R>, E>, Lost>,
) -> Result<Response<LockBody<R>>, E> {
    match done {
        Ok(answer) => {
            held.done(true);
            Ok(finish_response(held, answer?).await)
        }
        Err(lost) => Ok(lock_lost_response(held, &lost, request).await.map(LockBody::ours)),
    }
}

async fn finish_response<R: Body>(
    mut held: RequestHold,
    mut answer: Response<R>,
) -> Response<LockBody<R>> {
    if let Some(degraded) = held.degraded() {
        answer.headers_mut().insert(DEGRADED, HeaderValue::from_static(degraded));
    }
    let hold_until = held.policy.settings.hold_until.unwrap_or_default();
    if hold_until == HoldUntil::Body && !answer.body().is_end_stream() {
        // Nobody asks for a body that nobody wants.
        held.done(!held.context.caller.wants_body());
        return answer.map(|body| LockBody::under(body, held));
    }
    held.release().await;
    answer.map(LockBody::passed_on)
}

async fn lock_lost_response(
    held: RequestHold,
    lost: &Lost,
    request: Option<Parts>,
) -> Response<Bytes> {
    let rejection = held.policy.reject(held.mode, Rejection::lost(&held.context.caller, lost));
    // Released before anybody answers: a function that does may take its time.
    drop(held);
    reject::answer(rejection, request).await
}

/// Runs `work` to its end in a task of its own, whether or not anybody waits for it.
async fn detach<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panicked) => panic::resume_unwind(panicked),
            // Only the end of the runtime cancels it, and with it whoever waits here.
            Err(_) => std::future::pending().await,
        },
    }
}

impl RequestHold {
    /// What the answer has to say about its request's lock.
    fn degraded(&self) -> Option<&'static str> {
        match self.unlocked {
            Some(unlocked @ (Unlocked::Open | Unlocked::Local)) => Some(unlocked.as_str()),
            _ if self.went_on_without() => Some("lost"),
            _ => None,
        }
    }
}
