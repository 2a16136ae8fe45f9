use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use lock_core::{Lost, LostCause};
use pin_project_lite::pin_project;
use thiserror::Error;

use super::request_hold::RequestHold;

pin_project! {
    /// The body of an answer: the inner service's, during which the lock may still be held
    /// ([`HoldUntil::Body`](crate::settings::HoldUntil::Body)), or one of this crate's own.
    ///
    /// Frames, trailers and the size are forwarded unchanged. While the lock is held, the stream is
    /// polled in the request's [`Scope`](crate::Scope), as the handler was. The lock is released
    /// when the last frame has been returned, when the stream fails, or when this is dropped: so at
    /// once for an answer without a body, to a `HEAD`, or to an upgrade. A stream of events holds
    /// it until either side ends the stream. When the lock is lost while the body is streamed, the
    /// stream ends with an error, so that no client mistakes the first part for the whole. When a newer
    /// request [replaces](crate::settings::OnBusy::Replace) this one, a stream of server-sent events
    /// ends with the event `lock-replaced` instead.
    pub struct LockBody<B> {
        #[pin]
        inner: BodySource<B>,
        // Boxed: most answers are sent without a lock, and each is moved several times.
        held: Option<Box<HeldBody>>,
    }
}

pin_project! {
    #[project = BodySourceProjection]
    enum BodySource<B> {
        Service { #[pin] body: B },
        Ours { body: Full<Bytes> },
    }
}

impl<B: Body> BodySource<B> {
    fn is_end_stream(&self) -> bool {
        match self {
            Self::Service { body } => body.is_end_stream(),
            Self::Ours { body } => body.is_end_stream(),
        }
    }
}

struct HeldBody {
    held: RequestHold,
    stopped: Option<BoxFuture<'static, Lost>>,
    is_event_stream: bool,
}

impl<B> LockBody<B> {
    /// Wraps the inner service's body, without a lock.
    pub(crate) fn passed_on(body: B) -> Self {
        Self { inner: BodySource::Service { body }, held: None }
    }

    /// Creates a body for one of this crate's answers.
    pub(crate) fn ours(body: Bytes) -> Self {
        Self { inner: BodySource::Ours { body: Full::new(body) }, held: None }
    }

    /// Wraps the inner service's body; the lock stays held until the body has ended.
    pub(crate) fn under(body: B, held: RequestHold, is_event_stream: bool) -> Self {
        let stopped = held.stopped().map(|stopped| Box::pin(stopped) as BoxFuture<'static, Lost>);
        Self {
            inner: BodySource::Service { body },
            held: Some(Box::new(HeldBody { held, stopped, is_event_stream })),
        }
    }
}

/// The empty body, with which layers of tower-http answer by themselves: its timeout, its CORS.
impl<B> Default for LockBody<B> {
    fn default() -> Self {
        Self::ours(Bytes::new())
    }
}

impl HeldBody {
    /// Returns the loss because of which the stream must stop.
    fn lost(&mut self, context: &mut Context<'_>) -> Option<Lost> {
        self.held.measure(context);
        match self.stopped.as_mut()?.as_mut().poll(context) {
            Poll::Ready(lost) => {
                self.held.lost_while_streaming(&lost);
                Some(lost)
            }
            Poll::Pending => None,
        }
    }
}

/// The last event of a stream whose request a newer one has replaced: its data are those of the
/// problem document. The empty line ends an event that was sent in part.
const REPLACED: &[u8] = b"\n\nevent: lock-replaced\ndata: \
    {\"type\":\"urn:lock-tower:problem:lock-replaced\",\"status\":409,\"executed\":true}\n\n";

/// The error never contains the key: servers log the errors of bodies.
#[derive(Debug, Error)]
#[error("the lock was lost while the response was sent, which is cut short: {0}")]
struct CutShort(LostCause);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl<B> Body for LockBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut this = self.project();
        // Check before each frame, so that no frame is produced after the lease has ended.
        if let Some(lost) = this.held.as_mut().and_then(|held| held.lost(context)) {
            // The stream is dropped in the middle, as a handler is.
            this.inner.set(BodySource::Ours { body: Full::default() });
            let is_event = this.held.take().is_some_and(|held| {
                let HeldBody { held, is_event_stream, .. } = *held;
                let is_event = is_event_stream && held.is_replaced(&lost);
                held.end(Some(lost.cause()));
                is_event
            });
            return Poll::Ready(Some(if is_event {
                Ok(Frame::data(Bytes::from_static(REPLACED)))
            } else {
                Err(CutShort(lost.cause()).into())
            }));
        }
        let frame = match this.inner.as_mut().project() {
            BodySourceProjection::Service { body } => {
                let poll = || body.poll_frame(context);
                let polled = match this.held {
                    Some(held) => held.held.context.step(poll),
                    None => poll(),
                };
                ready!(polled).map(|frame| frame.map_err(Into::into))
            }
            BodySourceProjection::Ours { body } => {
                let frame = ready!(Pin::new(body).poll_frame(context));
                frame.map(|frame| frame.map_err(|never| match never {}))
            }
        };
        let failed = matches!(frame, Some(Err(_)));
        // A client that has the last frame need not poll again, so release now.
        if (failed || frame.is_none() || this.inner.is_end_stream())
            && let Some(mut held) = this.held.take()
        {
            // Drop the body before its lock: destructors of the body may still rely on the lock.
            this.inner.set(BodySource::Ours { body: Full::default() });
            held.held.done(!failed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            BodySource::Service { body } => body.size_hint(),
            BodySource::Ours { body } => body.size_hint(),
        }
    }
}

impl<B> fmt::Debug for LockBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockBody").field("held", &self.held.is_some()).finish_non_exhaustive()
    }
}
