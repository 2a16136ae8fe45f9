use std::{sync::Arc, time::Duration};

use http::request::Parts;
use lock_core::{IntoLockKey, LockClient};
use tower_layer::Layer;

use super::{RequestLock, policy::Policy};
#[cfg(feature = "axum")]
use crate::key::{KeyTemplateError, PathTemplate};
use crate::{BadKey, LockMode, key::KeySource};

/// Takes a lock for each request, for exactly as long as the request is worked on.
///
/// See the [module docs](crate::request_lock). Clones share what they observe of hold times, until
/// one is configured further.
#[derive(Debug, Clone)]
#[must_use = "a layer does nothing until it is added to a router or a service"]
pub struct RequestLockLayer {
    policy: Arc<Policy>,
}

impl RequestLockLayer {
    /// A lock whose key is a template over the route's path parameters: `{id}`, or `{path.id}`, is
    /// the parameter `id`. The grammar is that of [`Template`](crate::Template).
    ///
    /// For [`Router::route_layer`](axum::Router::route_layer): elsewhere the parameters cannot be
    /// seen, and every request is answered 500 `lock-misconfigured`.
    ///
    /// # Errors
    ///
    /// [`KeyTemplateError`] when `template` is not legal, or names something else than a path
    /// parameter. Whether the route has that parameter is only seen when a request comes in.
    #[cfg(feature = "axum")]
    pub fn new(client: LockClient, template: &str) -> Result<Self, KeyTemplateError> {
        let template = PathTemplate::parse(template)?;
        Ok(Self::from_source(client, KeySource::Path(Arc::new(template))))
    }

    /// A lock whose key a closure takes from the request's parts: headers, URI, extensions. It is
    /// called once per request, before the lock is asked for.
    ///
    /// The key may be a `String` or a [`LockKey`](crate::LockKey); a text that is no valid key is
    /// answered 400 `lock-key-invalid`. A value that a client chose should go through a
    /// [`Template`](crate::Template) or a [`KeyWriter`](crate::KeyWriter), which encode it: pasted
    /// into a text, it can be made to name another lock.
    pub fn with_key<F, K>(client: LockClient, key: F) -> Self
    where
        F: Fn(&Parts) -> Result<K, BadKey> + Send + Sync + 'static,
        K: IntoLockKey,
    {
        let key = move |parts: &Parts| Ok(key(parts)?.into_lock_key()?);
        Self::from_source(client, KeySource::Closure(Arc::new(key)))
    }

    fn from_source(client: LockClient, key: KeySource) -> Self {
        Self { policy: Arc::new(Policy::new(client, key)) }
    }

    /// Which lock to take. Default: [`LockMode::ByMethod`].
    pub fn mode(self, mode: LockMode) -> Self {
        self.with(|policy| policy.mode = mode)
    }

    /// How long a request waits for those who hold the lock, from when the layer asks, on this
    /// process' clock. With zero it never waits for another holder, only for the store's answer.
    /// Default: the client's, which is 1 s unless set.
    pub fn wait(self, wait: Duration) -> Self {
        self.with(|policy| policy.wait = Some(wait))
    }

    /// How long the store keeps the lock after the last sign of life, on the store's clock, from
    /// 100 ms to a year. It is renewed while the request is worked on, so it says how long others
    /// are shut out when this process dies, not how long a request may take. One out of bounds is
    /// answered 500 `lock-misconfigured`. Default: the client's, which is 30 s unless set.
    pub fn lease(self, lease: Duration) -> Self {
        self.with(|policy| policy.lease = Some(lease))
    }

    /// The longest that a request may hold the lock, from the grant, on this process' clock, from
    /// 100 ms to a year. When it is over, the lock is lost: the handler is cancelled. One out of
    /// bounds is answered 500 `lock-misconfigured`. Default: no limit.
    pub fn max_hold(self, max_hold: Duration) -> Self {
        self.with(|policy| policy.max_hold = Some(max_hold))
    }

    /// Whether the lease is renewed while the request is worked on. Without it the lock is lost
    /// when the lease ends. Default: `true`.
    pub fn renew(self, renew: bool) -> Self {
        self.with(|policy| policy.renew = renew)
    }

    /// What logs and problem documents call this lock. Clients read it.
    /// Default: the template; for a closure, `request`.
    pub fn name(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.with(|policy| policy.name = name.into())
    }

    fn with(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        change(Arc::make_mut(&mut self.policy));
        self
    }
}

impl<S> Layer<S> for RequestLockLayer {
    type Service = RequestLock<S>;

    fn layer(&self, inner: S) -> RequestLock<S> {
        RequestLock::new(inner, Arc::clone(&self.policy))
    }
}
