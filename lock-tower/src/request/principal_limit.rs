use std::{collections::HashMap, fmt, sync::Arc};

use http::request::Parts;
use lock_core::__private::Mutex;

type Principal = dyn Fn(&Parts) -> Option<String> + Send + Sync;

/// Limits how many locks one principal (a user, a tenant, an API key) holds and waits for at the
/// same time in this process. A request beyond the limit is answered 429 `lock-over-limit` at once.
///
/// Without a limit, a client that can name any key can occupy as many locks, and as many places in
/// queues, as it can send requests. The limit also bounds the number of different keys per
/// principal.
///
/// Authenticate and authorise *outside* of the lock's layer, and let the function read the result
/// from the request's extensions. A header that was not verified lets a client impersonate others.
///
/// Clones share their counts: give the same limit to several layers, and a principal has one limit
/// for all of them. A lock counts from the start of its acquisition until the end of its request, however
/// that ends: no longer where it is kept ([`Locked::keep`](crate::Locked::keep)), parked or has
/// `hold_at_least`. Each key of a request counts once for each layer. Locks that are not enforced
/// ([`Enforce::Shadow`](crate::Enforce::Shadow), [`Enforce::Off`](crate::Enforce::Off)) do not
/// count. An attribute on a handler has its own limit: `limit_principals` there.
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// use axum::{Router, extract::Request, middleware::{Next, from_fn}, response::Response, routing::put};
/// use lock_tower::{LockClient, PrincipalLimit, RequestLockLayer};
///
/// #[derive(Clone)]
/// struct User(String);
///
/// // Verifies the credentials, and answers 401 itself.
/// async fn authenticate(mut request: Request, next: Next) -> Response {
///     request.extensions_mut().insert(User("jane".to_owned()));
///     next.run(request).await
/// }
///
/// let limit = PrincipalLimit::new(10, |parts| Some(parts.extensions.get::<User>()?.0.clone()));
/// let lock = RequestLockLayer::new(LockClient::in_memory(), "order:{id:u64}")?.limit_principals(limit);
/// let app: Router = Router::new()
///     .route("/orders/{id}", put(|| async { "changed" }))
///     .route_layer(lock)
///     .route_layer(from_fn(authenticate)); // added later, so it comes first
/// # Ok::<(), lock_tower::KeyTemplateError>(())
/// ```
#[derive(Clone)]
pub struct PrincipalLimit {
    principal: Arc<Principal>,
    locks: Arc<PrincipalLocks>,
}

impl PrincipalLimit {
    /// Creates a limit of `most` locks for each principal. `principal` is called once per request
    /// and returns the principal's name, or `None` if the request is not limited. To limit all
    /// unknown principals together, return one name for them.
    pub fn new(
        most: usize,
        principal: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { principal: Arc::new(principal), locks: PrincipalLocks::new(most) }
    }

    /// Returns the request's principal, with this limit.
    pub(crate) fn of(&self, parts: &Parts) -> Option<LimitedPrincipal> {
        Some(self.locks.of((self.principal)(parts)?))
    }
}

impl fmt::Debug for PrincipalLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrincipalLimit").field("most", &self.locks.most).finish_non_exhaustive()
    }
}

/// How many locks each principal has, and how many it may have.
pub(crate) struct PrincipalLocks {
    most: usize,
    /// The principals that have locks.
    now: Mutex<HashMap<String, usize>>,
}

impl PrincipalLocks {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, now: Mutex::default() })
    }

    /// Returns the principal, with this limit.
    pub(crate) fn of(self: &Arc<Self>, principal: String) -> LimitedPrincipal {
        LimitedPrincipal { limit: Arc::clone(self), principal }
    }
}

/// A principal with a limit.
pub(crate) struct LimitedPrincipal {
    limit: Arc<PrincipalLocks>,
    principal: String,
}

impl LimitedPrincipal {
    /// Counts `more` locks until the permit is dropped, or returns the limit if that would exceed
    /// it.
    pub(crate) fn count(self, more: usize) -> Result<LimitPermit, usize> {
        {
            let mut locks = self.limit.now.lock();
            let most = self.limit.most;
            let now = locks.get(&self.principal).copied().unwrap_or_default();
            if now.saturating_add(more) > most {
                return Err(most);
            }
            *locks.entry(self.principal.clone()).or_default() += more;
        }
        Ok(LimitPermit { of: self, locks: more })
    }
}

/// Locks that count against the limit.
pub(crate) struct LimitPermit {
    of: LimitedPrincipal,
    locks: usize,
}

impl fmt::Debug for LimitPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Do not log the principal.
        f.debug_struct("LimitPermit").field("locks", &self.locks).finish_non_exhaustive()
    }
}

impl Drop for LimitPermit {
    fn drop(&mut self) {
        let mut locks = self.of.limit.now.lock();
        if let Some(now) = locks.get_mut(&self.of.principal) {
            *now = now.saturating_sub(self.locks);
            if *now == 0 {
                locks.remove(&self.of.principal);
            }
        }
    }
}
