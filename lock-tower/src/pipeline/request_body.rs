//! Reads a request's body before its lock is acquired.
//!
//! A handler that reads its body holds the lock for as long as the client takes to send it: one byte and
//! then nothing, and every other request of that key is refused for as long as the connection lives. So
//! the body comes first, within a bound of bytes, of time, and of all bodies that wait.

use lock_policy::RequestBody;

use super::pending_locks::PendingLocks;
use crate::{
    enforcement::split::is_enforced, lock_settings::waiting_bodies::WaitingBody,
    outcome::rejection::Rejection,
};

/// A body, and what it takes of the bodies that wait; or why the request is refused.
pub(crate) type ReadBody<B> = Result<(B, WaitingBody), Rejection>;

#[cfg(feature = "axum")]
pub(crate) use with_axum::{is_awaited, read_first};
#[cfg(not(feature = "axum"))]
pub(crate) use without_axum::{is_awaited, read_first};

/// Whether the policy has a body, if it can be read, read before the lock. A request whose lock is not
/// enforced stays as it is.
fn comes_first(pending: &PendingLocks) -> bool {
    pending.policy.bodies.is_some()
        && pending.policy.settings.body.unwrap_or_default() == RequestBody::Read
        && is_enforced(pending.enforce, &pending.keys)
}

/// Logs once per policy that its requests' bodies cannot be read before the lock.
fn warn_of_another_type(pending: &PendingLocks) {
    let Some(bodies) = &pending.policy.bodies else { return };
    if comes_first(pending) && pending.policy.settings.max_hold.is_none() && bodies.is_first_left()
    {
        tracing::warn!(
            policy = &*pending.policy.name,
            "where this lock's layer is, a request's body is not of Axum's type, and so is read \
             under the lock: a client that sends slowly holds the lock for as long as its connection \
             lives. Put layers that change the body's type inside of this one, or set a `max_hold`"
        );
    }
}

#[cfg(feature = "axum")]
mod with_axum {
    use std::{any::Any, error::Error, mem, time::Duration};

    use axum::{RequestExt, body::Body};
    use bytes::{Bytes, BytesMut};
    use http::{HeaderMap, Request, request::Parts};
    use http_body::Body as _;
    use http_body_util::{BodyExt, Full, LengthLimitError};
    use lock_key::MAX_DURATION;
    use lock_policy::Outcome;
    use tokio::time::{Instant, timeout_at};

    use super::{ReadBody, comes_first, warn_of_another_type};
    use crate::{
        lock_settings::waiting_bodies::{MOST_WAITING, WaitingBody},
        outcome::rejection::Rejection,
        pipeline::pending_locks::PendingLocks,
        request::context::RequestContext,
    };

    const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

    /// Whether the body is to be read before the lock: of each request that has one, unless its policy
    /// leaves it to the handler. A reader's too, because a read lock excludes writers for as long as the
    /// client takes to send it. Other types of body than Axum's cannot be rebuilt after they were read,
    /// and are left to the handler. The end of an empty body is known without waiting.
    pub(crate) fn is_awaited<B: 'static>(pending: &PendingLocks, body: &B) -> bool {
        match (body as &dyn Any).downcast_ref::<Body>() {
            Some(body) => !body.is_end_stream() && comes_first(pending),
            None => {
                warn_of_another_type(pending);
                false
            }
        }
    }

    /// Reads it.
    pub(crate) async fn read_first<B: 'static>(
        pending: &PendingLocks,
        context: &RequestContext,
        parts: Parts,
        body: B,
    ) -> (Parts, ReadBody<B>) {
        let mut body = Some(body);
        let slot = (&mut body as &mut dyn Any).downcast_mut::<Option<Body>>();
        let sent = slot.and_then(Option::take).unwrap_or_default();
        // With the limit that the route has, or Axum's own.
        let (parts, sent) = Request::from_parts(parts, sent).with_limited_body().into_parts();
        let read = all_of(pending, context, sent).await.map(|(whole, waiting)| {
            let mut whole = Some(whole);
            let whole = (&mut whole as &mut dyn Any).downcast_mut::<Option<B>>();
            let whole = whole.and_then(Option::take).expect("BUG: it is of Axum's type");
            (whole, waiting)
        });
        (parts, read)
    }

    async fn all_of(
        pending: &PendingLocks,
        context: &RequestContext,
        mut body: Body,
    ) -> Result<(Body, WaitingBody), Rejection> {
        let rejected = |outcome, why| {
            let rejection = Rejection::new(outcome, &context.caller).because(why);
            Err(pending.policy.reject(pending.mode, rejection))
        };
        let limit = pending.policy.settings.body_timeout.unwrap_or(DEFAULT_TIMEOUT);
        // Clamped: larger sums overflow, and a layer's limit is not bounded as a policy file's is.
        let ends = Instant::now() + limit.min(MAX_DURATION);
        let deadline = context.deadline.map(|deadline| deadline.moment());
        let until = deadline.map_or(ends, |deadline| deadline.min(ends));
        let mut waiting = WaitingBody::of(pending.policy.bodies.as_ref());
        let (mut sent, mut trailers) = (Sent::default(), None);
        loop {
            let Ok(frame) = timeout_at(until, body.frame()).await else {
                if until < ends {
                    return Err(pending.too_late(context));
                }
                let why = format!("its body was not sent within {limit:?}");
                return rejected(Outcome::BodyTimeout, why);
            };
            match frame {
                None => break,
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        if !waiting.add(data.len()) {
                            let why = format!(
                                "the bodies of the requests that wait for this lock have {MOST_WAITING} \
                                 bytes"
                            );
                            return rejected(Outcome::Overloaded, why);
                        }
                        sent.add(data);
                    }
                    Err(frame) => trailers = frame.into_trailers().ok(),
                },
                Some(Err(why)) if is_too_long(&why) => {
                    let why = "its body is longer than the route allows".to_owned();
                    return rejected(Outcome::BodyTooLarge, why);
                }
                // The handler finds the error where it would have found it.
                Some(Err(why)) => return Ok((broken(sent.whole(), why), waiting)),
            }
        }
        Ok((whole(sent.whole(), trailers), waiting))
    }

    fn is_too_long(why: &axum::Error) -> bool {
        let mut cause: Option<&(dyn Error + 'static)> = Some(why);
        while let Some(error) = cause {
            if error.is::<LengthLimitError>() {
                return true;
            }
            cause = error.source();
        }
        false
    }

    /// The part of a body that was sent. A list of its pieces would take 32 bytes and a buffer for each, however
    /// short: a client that sends single bytes could fill far more memory than the bound of all bodies.
    #[derive(Default)]
    struct Sent {
        /// Most bodies have one piece, which is not copied.
        first: Bytes,
        /// All of them, once there are several.
        all: BytesMut,
    }

    impl Sent {
        fn add(&mut self, piece: Bytes) {
            if self.first.is_empty() && self.all.is_empty() {
                self.first = piece;
                return;
            }
            self.all.extend_from_slice(&mem::take(&mut self.first));
            self.all.extend_from_slice(&piece);
        }

        fn whole(self) -> Bytes {
            if self.all.is_empty() { self.first } else { self.all.freeze() }
        }
    }

    fn whole(bytes: Bytes, trailers: Option<HeaderMap>) -> Body {
        match trailers {
            None => Body::from(bytes),
            Some(trailers) => {
                let trailers = std::future::ready(Some(Ok(trailers)));
                Body::new(Full::new(bytes).with_trailers(trailers))
            }
        }
    }

    fn broken(bytes: Bytes, why: axum::Error) -> Body {
        Body::from_stream(futures_util::stream::iter([Ok(bytes), Err(why)]))
    }
}

#[cfg(not(feature = "axum"))]
mod without_axum {
    use http::request::Parts;

    use super::{ReadBody, warn_of_another_type};
    use crate::{pipeline::pending_locks::PendingLocks, request::context::RequestContext};

    /// Leaves every body to the handler: only Axum's can be rebuilt after they were read.
    pub(crate) fn is_awaited<B: 'static>(pending: &PendingLocks, _body: &B) -> bool {
        warn_of_another_type(pending);
        false
    }

    pub(crate) async fn read_first<B: 'static>(
        _pending: &PendingLocks,
        _context: &RequestContext,
        _parts: Parts,
        _body: B,
    ) -> (Parts, ReadBody<B>) {
        unreachable!("no body is awaited")
    }
}
