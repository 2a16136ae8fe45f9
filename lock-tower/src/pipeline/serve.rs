//! Runs a request under its lock. All layers use this path.

use std::{
    future::Future,
    panic,
    pin::{Pin, pin},
    sync::Arc,
};

use bytes::Bytes;
use futures_util::{
    FutureExt,
    future::{Either, Fuse, lazy, ready},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, header::CONTENT_TYPE, request::Parts,
};
use http_body::Body;
use lock_core::{Lost, LostCause};
use lock_policy::{HoldUntil, OnDisconnect, Outcome, Unlocked};
use tower_service::Service;
use tracing::Instrument;

use super::{
    body::LockBody, pending_locks::PendingLocks, reject, request_body, request_hold::RequestHold,
};
use crate::{outcome::rejection::Rejection, request::context::RequestContext};

/// Marks the answer to a request that had no lock, or lost it: `open`, `local` or `lost`.
pub(crate) const DEGRADED: HeaderName = HeaderName::from_static("lock-degraded");

/// The fencing token of the lock that the request had.
pub(crate) const FENCE: HeaderName = HeaderName::from_static("lock-fence");

/// Acquires the locks and calls `inner` with the request.
#[expect(clippy::manual_async_fn, reason = "an async function has room for its arguments twice")]
pub(crate) fn serve<S, B, R>(
    pending: PendingLocks,
    context: RequestContext,
    inner: S,
    mut parts: Parts,
    body: B,
) -> impl Future<Output = Result<Response<LockBody<R>>, S::Error>> + Send
where
    S: Service<Request<B>, Response = Response<R>> + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    B: Send + 'static,
    R: Body + Send + 'static,
{
    async move {
        let (policy, slot) = (Arc::clone(&pending.policy), pending.slot.clone());
        let (mut body, mut waiting) = (body, None);
        if request_body::is_awaited(&pending, &body) {
            // Boxed: few requests need memory for it.
            let read = Box::pin(request_body::read_first(&pending, &context, parts, body)).await;
            parts = read.0;
            match read.1 {
                Ok((whole, bytes)) => (body, waiting) = (whole, Some(bytes)),
                Err(rejection) => {
                    return Ok(reject::answer(rejection, Some(parts)).await.map(LockBody::ours));
                }
            }
        }
        let (held, inside) = match pending.enter(&context).await {
            Ok(entered) => entered,
            Err(rejection) => {
                return Ok(reject::answer(rejection, Some(parts)).await.map(LockBody::ours));
            }
        };
        drop(waiting);
        // The handler consumes the request, so keep a copy for a function that answers for a lost
        // lock, or for a request that was replaced.
        let answers_for_loss =
            [Outcome::Lost, Outcome::Replaced].iter().any(|it| policy.fallbacks.contains_key(it));
        let kept = answers_for_loss.then(|| Box::new(parts.clone()));
        inside.insert_with(slot, &mut parts.extensions);
        let request = Request::from_parts(parts, body);
        match policy.settings.on_disconnect.unwrap_or_default() {
            // Boxed: few policies need memory for it.
            OnDisconnect::Finish => {
                Box::pin(detach(serve_held(held, inside, inner, request, kept))).await
            }
            _ => serve_held(held, inside, inner, request, kept).await,
        }
    }
}

/// Calls `inner` with the request under its locks, in their span.
fn serve_held<S, B, R>(
    mut held: RequestHold,
    inside: RequestContext,
    mut inner: S,
    request: Request<B>,
    kept: Option<Box<Parts>>,
) -> impl Future<Output = Result<Response<LockBody<R>>, S::Error>> + Send
where
    S: Service<Request<B>, Response = Response<R>> + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    B: Send + 'static,
    R: Body + Send + 'static,
{
    let span = held.span();
    async move {
        // Enter the scope for `call` too: a service may do its work there, before its future is
        // polled.
        let work = inside.run(lazy(move |_| inner.call(request)).flatten());
        let work = pin!(work.fuse());
        let done = run_under_lock(&mut held, work).await;
        complete(held, kept, done).await
    }
    .instrument(span)
}

/// Runs the work under the hold. The caller owns the hold and created it before the work, so the
/// work is always dropped before its lock. The work is passed pinned: each async function that took
/// it by value would store it twice.
pub(crate) async fn run_under_lock<T>(
    held: &mut RequestHold,
    mut work: Pin<&mut Fuse<impl Future<Output = T>>>,
) -> Result<T, Lost> {
    let done = held.run(work.as_mut()).await;
    // Drop the work before its lock.
    work.set(Fuse::terminated());
    done
}

/// Returns the answer of the work, or the answer for a lost lock. Most holds end here at once; what
/// has to wait is boxed.
pub(crate) fn complete<R, E>(
    mut held: RequestHold,
    request: Option<Box<Parts>>,
    done: Result<Result<Response<R>, E>, Lost>,
) -> impl Future<Output = Result<Response<LockBody<R>>, E>> + Send
where
    R: Body + Send + 'static,
    E: Send + 'static,
{
    let at_once = |answer| Either::Left(ready(answer));
    let mut answer = match done {
        Ok(answer) => {
            held.done(true);
            match answer {
                Ok(answer) => answer,
                Err(error) => return at_once(Err(error)),
            }
        }
        Err(lost) => {
            let answer = lock_lost_response(held, lost, request);
            return Either::Right(answer.map(|answer| Ok(answer.map(LockBody::ours))).boxed());
        }
    };
    if let Some(token) = held.shown_token() {
        answer.headers_mut().insert(FENCE, token.get().into());
    }
    let lost = held.loss();
    if let Some(degraded) = held.degraded(lost) {
        answer.headers_mut().insert(DEGRADED, HeaderValue::from_static(degraded));
    }
    let hold_until = held.policy.settings.hold_until.unwrap_or_default();
    if hold_until == HoldUntil::Body && !answer.body().is_end_stream() {
        // The body of a response to `HEAD` is never polled, so the hold counts as done without it.
        held.done(!held.context.caller.wants_body());
        let is_event_stream = is_event_stream(answer.headers());
        return at_once(Ok(answer.map(|body| LockBody::under(body, held, is_event_stream))));
    }
    let answer = answer.map(LockBody::passed_on);
    if held.is_released_first() {
        return Either::Right(held.release().map(|()| Ok(answer)).boxed());
    }
    held.end(lost);
    at_once(Ok(answer))
}

/// Whether the response is a stream of server-sent events.
fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| {
        let essence = value.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case("text/event-stream")
    })
}

async fn lock_lost_response(
    held: RequestHold,
    lost: Lost,
    request: Option<Box<Parts>>,
) -> Response<Bytes> {
    let caller = &held.context.caller;
    let rejection = match held.is_replaced(&lost) {
        true => Rejection::replaced(caller),
        false => Rejection::lost(caller, &lost),
    };
    let rejection = held.policy.reject(held.mode, rejection);
    // Release before a function computes the answer, because that may take long. A holder that was replaced
    // has not lost the lock yet.
    held.end(Some(lost.cause()));
    reject::answer(rejection, request.map(|request| *request)).await
}

/// Runs `work` to its end in its own task, even if the request is dropped.
async fn detach<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panicked) => panic::resume_unwind(panicked),
            // Only the shutdown of the runtime cancels the task, and it cancels this caller too.
            Err(_) => std::future::pending().await,
        },
    }
}

impl RequestHold {
    /// Returns the value of [`DEGRADED`] for this request's answer.
    fn degraded(&self, lost: Option<LostCause>) -> Option<&'static str> {
        match self.unlocked {
            Some(unlocked @ (Unlocked::Open | Unlocked::Local)) => Some(unlocked.as_str()),
            _ => lost.map(|_| "lost"),
        }
    }
}
