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
use tower_service::Service;
use tracing::Instrument;

use crate::{
    HoldUntil, LockBody, OnDisconnect, Outcome, Unlocked, asked::Asked, context::RequestContext,
    held::Held, outcome::Refusal,
};

/// Says of an answer that its request had no lock, or not to the end: `open`, `local` or `lost`.
pub(crate) const DEGRADED: HeaderName = HeaderName::from_static("lock-degraded");

/// Asks for the locks and has `inner` work on the request.
pub(crate) async fn carry_out<S, B, R>(
    asked: Asked,
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
        Err(refusal) => return Ok(refusal.answer(Some(parts)).await.map(LockBody::ours)),
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
        let done = under(&mut held, work).await;
        end(held, kept, done).await
    }
    .instrument(span);
    match policy.conduct.on_disconnect.unwrap_or_default() {
        OnDisconnect::Cancel => done.await,
        OnDisconnect::Finish => finish(done).await,
    }
}

/// Runs the work under what is held, which stays with the caller, who has it since before the work:
/// so the work is dropped before its lock, whoever drops them. Work is handed on pinned: each async
/// function that took it by value would have room for it twice.
pub(crate) async fn under<T>(
    held: &mut Held,
    mut work: Pin<&mut Fuse<impl Future<Output = T>>>,
) -> Result<T, Lost> {
    let done = held.run(work.as_mut()).await;
    // Gone before its lock is.
    work.set(Fuse::terminated());
    done
}

/// The answer of the work, or that for a lost lock.
pub(crate) async fn end<R: Body, E>(
    mut held: Held,
    request: Option<Parts>,
    done: Result<Result<Response<R>, E>, Lost>,
) -> Result<Response<LockBody<R>>, E> {
    match done {
        Ok(answer) => {
            held.done(true);
            Ok(complete(held, answer?).await)
        }
        Err(lost) => Ok(cut_short(held, &lost, request).await.map(LockBody::ours)),
    }
}

async fn complete<R: Body>(mut held: Held, mut answer: Response<R>) -> Response<LockBody<R>> {
    if let Some(degraded) = held.degraded() {
        answer.headers_mut().insert(DEGRADED, HeaderValue::from_static(degraded));
    }
    let hold_until = held.policy.conduct.hold_until.unwrap_or_default();
    if hold_until == HoldUntil::Body && !answer.body().is_end_stream() {
        // Nobody asks for a body that nobody wants.
        held.done(!held.context.caller.wants_body());
        return answer.map(|body| LockBody::under(body, held));
    }
    held.release().await;
    answer.map(LockBody::passed_on)
}

async fn cut_short(held: Held, lost: &Lost, request: Option<Parts>) -> Response<Bytes> {
    let refusal = Refusal::lost(&held.context.caller, lost).of_lock(&held.policy, held.mode);
    // Released before anybody answers: a function that does may take its time.
    drop(held);
    refusal.answer(request).await
}

/// Runs `work` to its end in a task of its own, whether or not anybody waits for it.
async fn finish<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panicked) => panic::resume_unwind(panicked),
            // Only the end of the runtime cancels it, and with it whoever waits here.
            Err(_) => std::future::pending().await,
        },
    }
}

impl Held {
    /// What the answer has to say about its request's lock.
    fn degraded(&self) -> Option<&'static str> {
        match self.unlocked {
            Some(unlocked @ (Unlocked::Open | Unlocked::Local)) => Some(unlocked.as_str()),
            _ if self.went_on_without() => Some("lost"),
            _ => None,
        }
    }
}
