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
    /// The body of an answer: the inner service's, under whose stream the lock may still be held
    /// ([`HoldUntil::Body`](crate::HoldUntil::Body)), or one of this crate's own.
    ///
    /// Frames, trailers and the size are passed on as they are. While the lock is held the stream is in
    /// the request's [`Scope`](crate::Scope), as the handler was. The lock is released when the last
    /// frame has been taken, when the stream fails, or when this is dropped: so at once for an answer
    /// without a body, to a `HEAD`, or to an upgrade. A stream of events holds it until either side
    /// ends the stream. When the lock is lost while the body is streamed, the stream ends with an
    /// error, so that nobody takes half of it for the whole.
    pub struct LockBody<B> {
        #[pin]
        inner: BodySource<B>,
        held: Option<HeldBody>,
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
}

impl<B> LockBody<B> {
    /// The inner service's body, with nothing held under it.
    pub(crate) fn passed_on(body: B) -> Self {
        Self { inner: BodySource::Service { body }, held: None }
    }

    /// An answer of our own.
    pub(crate) fn ours(body: Bytes) -> Self {
        Self { inner: BodySource::Ours { body: Full::new(body) }, held: None }
    }

    /// The inner service's body; what is held stays held until that has ended.
    pub(crate) fn under(body: B, held: RequestHold) -> Self {
        let stopped = held.stopped().map(|stopped| Box::pin(stopped) as BoxFuture<'static, Lost>);
        Self { inner: BodySource::Service { body }, held: Some(HeldBody { held, stopped }) }
    }
}

impl HeldBody {
    /// Whether the stream has to stop.
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

/// Never has the key in it: servers log the errors of bodies.
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
        // Before the next frame: not one is made after the lease has ended.
        if let Some(lost) = this.held.as_mut().and_then(|held| held.lost(context)) {
            // The stream stops where it stands, as a handler does.
            this.inner.set(BodySource::Ours { body: Full::default() });
            this.held.take();
            return Poll::Ready(Some(Err(CutShort(lost.cause()).into())));
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
        // Who has the last frame need not ask for another.
        if (failed || frame.is_none() || this.inner.is_end_stream())
            && let Some(mut held) = this.held.take()
        {
            // Gone before its lock is, with all that it undoes.
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
