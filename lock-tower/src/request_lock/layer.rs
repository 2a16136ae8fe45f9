use std::{sync::Arc, time::Duration};

use http::request::Parts;
use lock_core::{IntoLockKey, Kind, LockClient};
use tower_layer::Layer;

use super::{RequestLock, policy::Policy};
#[cfg(feature = "axum")]
use crate::key::{KeyTemplateError, PathTemplates};
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
        Self::multi(client, [template])
    }

    /// Locks on several keys, each a template as for [`new`](Self::new): all of them are held, or
    /// none. Two such layers that name the same keys in different orders do not wait for each other
    /// for ever. Templates that give the same key for a request lock it once.
    ///
    /// # Errors
    ///
    /// [`KeyTemplateError`] as for [`new`](Self::new), and when there is no template or one twice.
    #[cfg(feature = "axum")]
    pub fn multi<'t>(
        client: LockClient,
        templates: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self, KeyTemplateError> {
        let templates = PathTemplates::parse(templates)?;
        Ok(Self::from_source(client, KeySource::Path(Arc::new(templates))))
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
        Self::with_keys(client, move |parts| Ok([key(parts)?]))
    }

    /// Locks on several keys that a closure takes from the request's parts: all of them are held,
    /// or none. As [`with_key`](Self::with_key). A key that is given twice is locked once; a
    /// request without any is answered 500 `lock-misconfigured`.
    pub fn with_keys<F, I>(client: LockClient, keys: F) -> Self
    where
        F: Fn(&Parts) -> Result<I, BadKey> + Send + Sync + 'static,
        I: IntoIterator<Item: IntoLockKey>,
    {
        let keys = move |parts: &Parts| {
            let keys = keys(parts)?.into_iter().map(IntoLockKey::into_lock_key);
            Ok(keys.collect::<Result<_, _>>()?)
        };
        Self::from_source(client, KeySource::Closure(Arc::new(keys)))
    }

    fn from_source(client: LockClient, keys: KeySource) -> Self {
        Self { policy: Arc::new(Policy::new(client, keys)) }
    }

    /// Which kind of lock to take. On a kind without readers, such as [`Kind::Fair`], every method
    /// takes the one lock there is; to [read](LockMode::Read) it is answered 500
    /// `lock-misconfigured`, and so is [`Kind::Semaphore`]. Default: [`Kind::ReadWrite`].
    pub fn kind(self, kind: Kind) -> Self {
        self.with(|policy| policy.kind = kind)
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
    /// Default: the template, or all of them; for a closure, `request`.
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
