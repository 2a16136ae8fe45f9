use std::sync::Arc;

use axum::{
    body::Body,
    extract::{FromRequestParts, OptionalFromRequestParts},
    response::Response,
};
use http::request::Parts;
use lock_core::{FencingToken, LockGuard};
use lock_policy::{__private::LockName, Outcome};
use smallvec::smallvec;

use crate::{
    outcome::{caller::Caller, rejection::Rejection},
    pipeline::reject,
    request::{
        context::RequestContext,
        lock_slot::{FenceUse, LockSlot, SlotEntry},
    },
};

/// The fencing token of the lock that protects a request: an extractor for handlers that write to a
/// database.
///
/// It is the token of the innermost lock around the handler, the one that [`Locked`](crate::Locked)
/// shows. [`FencedTable`](crate::FencedTable) provides the statements that use it.
///
/// ```
/// use axum::{Router, extract::Path, routing::put};
/// use lock_tower::{Fence, FencedTable, LockClient, RequestLockLayer};
///
/// async fn update(Path(id): Path<i64>, fence: Fence) -> String {
///     let token: i64 = fence.token().as_i64();
///     // The first statement claims the row: bind `token`, `id` to `orders.claim_sql()`.
///     format!("order {id} under token {token}")
/// }
///
/// let lock = RequestLockLayer::new(LockClient::in_memory(), "order:{id:u64}")?;
/// let app: Router = Router::new().route("/orders/{id}", put(update)).route_layer(lock);
/// # Ok::<(), lock_tower::KeyTemplateError>(())
/// ```
///
/// # When it is refused
///
/// A handler with this extractor is not called, and the answer is 500 `lock-misconfigured`, when
/// there is no lock around it, or a lock on several keys: each of these has its own
/// [token](crate::Locked::fencing_token_of). While the policy lets the request run [without its
/// lock](crate::settings::Unlocked), there is no token either: the answer is 503 `lock-unavailable` if the
/// lock store does not respond, otherwise 500.
///
/// `Option<Fence>` is `None` where there is no lock, and is still refused under several keys. (An
/// attribute's lock is acquired after the extractors have run: there it is a `Fence` with the token
/// [`FencingToken::NONE`], which every claim refuses.)
///
/// # Under a read lock
///
/// Readers do not exclude each other, and readers of one process may share a token, so several of
/// them can write under it. Write under a write lock.
///
/// # In other extractors
///
/// An attribute acquires its lock after all extractors have run. So your own extractor can forward
/// the `Fence` of an attribute, but [`token`](Self::token) panics until the handler's body runs.
#[derive(Debug, Clone)]
pub struct Fence(LockSlot);

impl Fence {
    /// Returns the fence of a guard's lock, for calling a handler in a unit test.
    ///
    /// ```
    /// use lock_tower::{Fence, LockClient};
    ///
    /// async fn handler(fence: Fence) -> String {
    ///     fence.token().to_string()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = LockClient::in_memory().write("order:42").acquire().await?;
    /// assert_eq!(handler(Fence::of(&guard)).await, guard.fencing_token().to_string());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn of(guard: &LockGuard) -> Self {
        let slot = LockSlot::default();
        slot.fill(SlotEntry {
            name: LockName::from(guard.key().to_string()),
            mode: guard.mode(),
            views: smallvec![guard.view()],
            unlocked: None,
            reacquire: None,
        });
        Self(slot)
    }

    /// Returns the number by which a database can refuse a holder whose lease has ended. It changes
    /// with an upgrade within the handler: call this again afterwards.
    ///
    /// # Panics
    ///
    /// If called before the handler's body runs.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        let entry = self.0.get();
        let entry = entry
            .expect("`Fence` was used before the handler's body ran: its lock is not taken yet");
        match &*entry.views {
            [view] if entry.unlocked.is_none() => view.fencing_token(),
            _ => FencingToken::NONE,
        }
    }

    /// Returns the fence of the innermost lock, `None` if there is no lock, or the reason why there
    /// can be no fence.
    fn of_request(
        parts: &Parts,
        wanted: FenceUse,
    ) -> Result<Option<Self>, (Outcome, &'static str)> {
        let Some(slot) = RequestContext::innermost_lock(&parts.extensions) else { return Ok(None) };
        slot.use_fence(wanted);
        match slot.fence_refused() {
            Some(why) => Err(why),
            None if slot.get().is_some_and(SlotEntry::has_no_fence) => Ok(None),
            None => Ok(Some(Self(slot.clone()))),
        }
    }
}

impl From<Fence> for FencingToken {
    /// See [`Fence::token`], also for when it panics.
    fn from(fence: Fence) -> Self {
        fence.token()
    }
}

impl<S: Sync> FromRequestParts<S> for Fence {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let why_none = "a handler takes `Fence` and has no lock: add `RequestLockLayer` by \
                        `Router::route_layer`, `#[distributed_lock]` to the handler, or a rule for \
                        this route to the policy file";
        let fence = Self::of_request(parts, FenceUse::Always);
        let fence = fence.and_then(|fence| fence.ok_or((Outcome::Misconfigured, why_none)));
        fence.map_err(|why| refuse(parts, why))
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Fence {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Response> {
        Self::of_request(parts, FenceUse::IfAny).map_err(|why| refuse(parts, why))
    }
}

fn refuse(parts: &Parts, (outcome, why): (Outcome, &'static str)) -> Response {
    let rejection = Rejection::without_fence(&Arc::new(Caller::of(parts)), outcome, why);
    reject::answer_at_once(rejection).map(Body::from)
}
