use std::{
    future::{Future, pending, poll_fn},
    pin::Pin,
    task::Poll,
    time::Duration,
};

use futures_util::future::{select_all, try_join_all};
use http::Extensions;
use lock_core::{
    AcquireError, EnsureError, FencingToken, HoldTicket, InvalidOptions, LockGuard, LockView, Lost,
    Mode, MultiGuard, ParkError,
};
use lock_policy::Unlocked;
use smallvec::{SmallVec, smallvec};

use crate::request::{
    context::RequestContext,
    lock_slot::{LockSlot, SlotEntry},
};

#[cfg(feature = "axum")]
use crate::{
    outcome::{caller::Caller, rejection::Rejection},
    pipeline::reject,
};

/// The lock that protects a request: an extractor for handlers.
///
/// It only shows the lock and does not hold it: the lock ends with the request, even if this lives
/// longer. Of several locks around one handler it shows the innermost: the attribute's, or else
/// that of the layer next to the handler.
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// use axum::{Router, extract::Path, routing::put};
/// use lock_tower::{LockClient, Locked, RequestLockLayer};
///
/// async fn update(Path(id): Path<u64>, lock: Locked) -> String {
///     // A database refuses former holders by their token: see `FencedTable`.
///     format!("order {id} with token {}", lock.fencing_token())
/// }
///
/// let lock = RequestLockLayer::new(LockClient::in_memory(), "order:{id:u64}")?;
/// let app: Router = Router::new().route("/orders/{id}", put(update)).route_layer(lock);
/// # Ok::<(), lock_tower::KeyTemplateError>(())
/// ```
///
/// A handler that extracts it without a lock is answered 500 `lock-misconfigured`.
///
/// # With several keys
///
/// An attribute with `keys = [..]` or a layer made by
/// [`with_keys`](crate::RequestLockLayer::with_keys) locks several keys at once. Each has its own
/// [token](Self::fencing_token_of); the other methods describe all of them together.
///
/// # In other extractors
///
/// An attribute acquires its lock after all extractors have run. So your own extractor can forward
/// the `Locked` of an attribute, but its methods panic until the handler's body runs.
#[derive(Debug, Clone)]
pub struct Locked(pub(crate) LockSlot);

impl Locked {
    /// Returns the innermost lock around a request from the request's extensions, for services
    /// without Axum.
    #[must_use]
    pub fn from_extensions(extensions: &Extensions) -> Option<Self> {
        RequestContext::innermost_lock(extensions).cloned().map(Self)
    }

    /// Returns a view of a guard's lock, with a name, for calling a handler in a unit test.
    ///
    /// ```
    /// use lock_tower::{LockClient, Locked};
    ///
    /// async fn handler(lock: Locked) -> String {
    ///     lock.mode().to_string()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = LockClient::in_memory().write("order:42").acquire().await?;
    /// assert_eq!(handler(Locked::of("order-write", &guard)).await, "write");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn of(name: impl Into<String>, guard: &LockGuard) -> Self {
        Self::filled(name.into(), smallvec![guard.view()])
    }

    /// Returns a view of the locks of several keys: like [`of`](Self::of).
    #[must_use]
    pub fn of_all(name: impl Into<String>, guard: &MultiGuard) -> Self {
        Self::filled(name.into(), guard.views().collect())
    }

    fn filled(name: String, views: SmallVec<[LockView; 1]>) -> Self {
        let mode = weakest(&views).unwrap_or(Mode::Write);
        let slot = LockSlot::default();
        slot.fill(SlotEntry { name: name.into(), mode, views, unlocked: None, reacquire: None });
        Self(slot)
    }

    /// Returns why the request runs without its lock, if its policy allows that. Then
    /// [`is_held`](Self::is_held) is false and the token is [`FencingToken::NONE`]; only with
    /// [`Unlocked::Local`] there is a lock, valid in this process only.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    #[must_use]
    pub fn unlocked(&self) -> Option<Unlocked> {
        self.entry().unlocked
    }

    /// Acquires the same lock again, for work that continues after the request: move the guard into
    /// the task that is spawned for it. The lock is held, and renewed, until the request has ended
    /// and that guard is dropped. A loss cancels the task only if it uses [`MultiGuard::protect`].
    ///
    #[cfg_attr(feature = "axum", doc = "```")]
    #[cfg_attr(not(feature = "axum"), doc = "```ignore")]
    /// use axum::http::StatusCode;
    /// use lock_tower::Locked;
    /// # async fn rewrite_report() {}
    ///
    /// async fn rewrite(lock: Locked) -> Result<StatusCode, StatusCode> {
    ///     let guard = lock.keep().await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    ///     tokio::spawn(async move {
    ///         let _ = guard.protect(rewrite_report()).await;
    ///         drop(guard); // and only now the next request gets the lock
    ///     });
    ///     Ok(StatusCode::ACCEPTED)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`AcquireError::Lost`] when the lock is lost or the request has ended,
    /// [`AcquireError::Unavailable`] when the store does not respond,
    /// [`AcquireError::InvalidOptions`] when there is no lock to keep: the request runs
    /// [unlocked](Self::unlocked) or has permits of a semaphore, or this was made by
    /// [`of`](Self::of).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future acquires nothing.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    pub async fn keep(&self) -> Result<MultiGuard, AcquireError> {
        let Some(reacquire) = &self.entry().reacquire else {
            return Err(InvalidOptions::new("the request has no lock to keep").into());
        };
        if self.entry().has_permits() {
            // It would take further permits, and wait for them while it has some.
            let why = "a request's permits cannot be kept: acquire permits in the task itself";
            return Err(InvalidOptions::new(why).into());
        }
        // A request that has ended has no lock to keep.
        self.locks().iter().try_for_each(LockView::ensure_held)?;
        let guard = reacquire.acquire(self.locks()).acquire().await?;
        // If the hold ended meanwhile, the guard belongs to a new hold: refuse it.
        self.locks().iter().try_for_each(LockView::ensure_held)?;
        Ok(guard)
    }

    /// Parks the request's lock for `lease` and returns the ticket with which a worker, in this process
    /// or another, continues under it: see [`LockGuard::park`]. The handler continues without the
    /// lock, which does not end with the request.
    ///
    #[cfg_attr(feature = "axum", doc = "```")]
    #[cfg_attr(not(feature = "axum"), doc = "```ignore")]
    /// use std::time::Duration;
    /// use axum::http::StatusCode;
    /// use lock_tower::Locked;
    /// # async fn enqueue(ticket: String) {}
    ///
    /// async fn rewrite(lock: Locked) -> Result<StatusCode, StatusCode> {
    ///     let ticket = lock.park(Duration::from_secs(60)).await;
    ///     let ticket = ticket.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    ///     enqueue(ticket.to_string()).await; // the worker: locks.resume(&ticket.parse()?)
    ///     Ok(StatusCode::ACCEPTED)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ParkError`]; the request keeps its lock. [`ParkError::InvalidOptions`] also with several keys,
    /// or while the request runs [unlocked](Self::unlocked).
    ///
    /// # Cancel safety
    ///
    /// The request keeps its lock.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    pub async fn park(&self, lease: Duration) -> Result<HoldTicket, ParkError> {
        match (self.unlocked(), self.locks()) {
            (None, [view]) => view.park(lease).await,
            (Some(_), _) => Err(InvalidOptions::new("the request runs without its lock").into()),
            _ => Err(InvalidOptions::new("only a lock on one key can be parked").into()),
        }
    }

    /// Returns the number by which a resource can refuse a holder whose lease has ended. It is
    /// [`FencingToken::NONE`], which a resource that checks refuses, while the request runs
    /// [unlocked](Self::unlocked), and under a semaphore.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs, or with several keys, each of which has its own
    /// token: see [`fencing_token_of`](Self::fencing_token_of).
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        match self.locks() {
            [view] => self.token(view),
            [] => FencingToken::NONE,
            views => panic!(
                "`Locked::fencing_token` is for a lock on one key, and this one has {} \
                 keys: use `fencing_token_of`",
                views.len()
            ),
        }
    }

    /// Returns the fencing token of one of the keys, given as rendered from its template:
    /// `account:7` for `account:{from}`. `None` if that key is not among them.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    #[must_use]
    pub fn fencing_token_of(&self, key: &str) -> Option<FencingToken> {
        let view = self.locks().iter().find(|view| view.key().as_str() == key)?;
        Some(self.token(view))
    }

    /// A lock that only this process knows has no token, because another process may hold the lock.
    fn token(&self, view: &LockView) -> FencingToken {
        match self.entry().unlocked {
            None => view.fencing_token(),
            Some(_) => FencingToken::NONE,
        }
    }

    /// Returns how long the lock is valid if no renewal succeeds: on this process' clock, with a
    /// safety margin to the store's expiry. Zero once it is lost or released. With several keys,
    /// the shortest time.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.locks().iter().map(LockView::remaining).min().unwrap_or_default()
    }

    /// Makes sure that the lock can be relied upon for `wanted` at least, by a renewal if need be:
    /// before a step that must not be cut short. With several keys, all of them. See
    /// [`LockView::ensure`].
    ///
    /// # Errors
    ///
    /// [`EnsureError`]: the lock is lost, the store did not answer, or it is too long. While the
    /// request runs [unlocked](Self::unlocked) there is nothing to renew, and no error.
    ///
    /// # Cancel safety
    ///
    /// Dropping this leaves the lock as it is; the renewal may have been executed.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    pub async fn ensure(&self, wanted: Duration) -> Result<(), EnsureError> {
        try_join_all(self.locks().iter().map(|view| view.ensure(wanted))).await.map(drop)
    }

    /// Lets the request hold its lock for at least `by` from now on, although its `max_hold` would
    /// end earlier: see [`LockView::extend_max_hold`].
    ///
    /// # Errors
    ///
    /// [`Lost`] when the lock was lost, or the request has ended.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    pub fn extend_max_hold(&self, by: Duration) -> Result<(), Lost> {
        self.locks().iter().try_for_each(|view| view.extend_max_hold(by))
    }

    /// Returns the strongest mode in which the request holds the key, or all of several keys; while
    /// it runs [unlocked](Self::unlocked), the mode that it would have.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    #[must_use]
    pub fn mode(&self) -> Mode {
        weakest(self.locks()).unwrap_or(self.entry().mode)
    }

    /// Returns whether the lock is held at this moment: not lost, and the request has not ended.
    /// With several keys, whether all of them are held.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let views = self.locks();
        self.unlocked().is_none() && !views.is_empty() && views.iter().all(LockView::is_held)
    }

    /// Returns a future that resolves when the lock, or the first of several, is lost: for work
    /// that the handler has spawned, which is not cancelled with it. It never resolves once the
    /// lock is released.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    #[must_use = "it resolves when the lock is lost; race it against the work"]
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + Unpin + use<> {
        let mut signals: Vec<_> = self.locks().iter().map(LockView::lost).collect();
        poll_fn(move |context| {
            let mut polled = signals.iter_mut().map(|signal| Pin::new(signal).poll(context));
            polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
    }

    /// Resolves when an operator, or another process, requests the release of the lock or of the first
    /// of several: finish soon. The lock is not taken away from a handler that continues. It never
    /// resolves once the lock is released, lost, or while the request runs
    /// [unlocked](Self::unlocked).
    ///
    /// ```
    /// # use lock_tower::Locked;
    /// # async fn next_page() -> bool { false }
    /// async fn rewrite(lock: Locked) -> &'static str {
    ///     let pages = async { while next_page().await {} };
    ///     tokio::select! {
    ///         () = pages => "rewritten",
    ///         () = lock.release_requested() => "stopped on request",
    ///     }
    /// }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Dropping this stops listening.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    pub async fn release_requested(&self) {
        let requests: Vec<_> =
            self.locks().iter().map(|view| Box::pin(view.release_requested())).collect();
        if requests.is_empty() {
            return pending().await;
        }
        select_all(requests).await;
    }

    /// Returns the lock's name in logs and problem documents: the layer's or the attribute's.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry().name
    }

    /// Returns the view of the lock itself, with all its details. `None` with several keys, or
    /// none: see [`views`](Self::views).
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    #[must_use]
    pub fn view(&self) -> Option<&LockView> {
        match self.views() {
            [view] => Some(view),
            _ => None,
        }
    }

    /// Returns the views of the locks on all keys, in the order of the keys. Empty while the
    /// request runs [unlocked](Self::unlocked).
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    #[must_use]
    pub fn views(&self) -> &[LockView] {
        // The view of a lock in this process alone has a token, by which a resource would refuse the holder
        // that the store knows.
        if self.unlocked().is_none() { self.locks() } else { &[] }
    }

    /// The locks on all keys: those of the store, or those that this process alone has.
    fn locks(&self) -> &[LockView] {
        &self.entry().views
    }

    fn entry(&self) -> &SlotEntry {
        self.0
            .get()
            .expect("`Locked` was used before the handler's body ran: its lock is not taken yet")
    }
}

fn weakest(views: &[LockView]) -> Option<Mode> {
    let read = views.iter().any(|view| view.mode() == Mode::Read);
    (!views.is_empty()).then_some(if read { Mode::Read } else { Mode::Write })
}

#[cfg(feature = "axum")]
impl<S: Sync> axum::extract::FromRequestParts<S> for Locked {
    type Rejection = axum::response::Response;

    async fn from_request_parts(
        parts: &mut http::request::Parts,
        _: &S,
    ) -> Result<Self, Self::Rejection> {
        Self::from_extensions(&parts.extensions).ok_or_else(|| {
            let why = "a handler takes `Locked` and has no lock: add `RequestLockLayer` by \
                       `Router::route_layer`, `#[distributed_lock]` to the handler, or a rule for \
                       this route to the policy file";
            let rejection = Rejection::misconfigured(&Caller::of(parts).into(), why);
            reject::answer_at_once(rejection).map(axum::body::Body::from)
        })
    }
}
