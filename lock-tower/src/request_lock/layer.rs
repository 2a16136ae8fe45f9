use std::{
    future::Future,
    sync::{Arc, Once},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderName, Response, StatusCode, request::Parts};
use lock_core::{IntoLockKey, Kind, LockClient};
use lock_policy::{
    __private::{LockName, LockSettings},
    Enforce, HoldUntil, KeyRejection, KeyValues, LockMode, OnBusy, OnDisconnect, OnLost,
    OnMissingKey, OnStoreDown, Outcome, Release, ReplaceBy, RequestBody,
};
use tower_layer::Layer;

use super::RequestLock;
use crate::{
    lock_settings::{permits_of::PermitsOf, policy::Policy},
    outcome::rejected_request::{RejectedRequest, fallback},
    pipeline::{preflight::PreflightRoutes, route_lock::RouteLock},
    request::principal_limit::PrincipalLimit,
    request_key::KeySource,
    telemetry::metrics,
};

#[cfg(feature = "axum")]
use lock_policy::{
    __private::{KeyTemplates, Untyped},
    KeyTemplateError, LockTemplate,
};

/// Acquires a lock for each request and holds it while the request runs.
///
/// See the [module docs](crate::request_lock). Clones share the hold times that they observe, until
/// one of them is configured further.
#[derive(Debug, Clone)]
#[must_use = "a layer does nothing until it is added to a router or a service"]
pub struct RequestLockLayer {
    pub(crate) lock: Arc<RouteLock>,
    /// Whether the metrics of this lock were started. Axum applies a layer again for each
    /// connection, and in some routers for each request.
    begun: Arc<Once>,
}

impl RequestLockLayer {
    /// Creates a layer whose key is a template over the request. The grammar is that of
    /// [`Template`](crate::key::Template); a placeholder names
    ///
    /// | placeholder | its value | when the request lacks it |
    /// |---|---|---|
    /// | `{id}`, `{path.id}` | the route's path parameter, percent-decoded | 500 |
    /// | `{query.page}` | the parameter of the query string, decoded | 400 |
    /// | `{header.x-tenant}` | the header | 400 |
    /// | `{cookie.sid}` | the cookie, percent-decoded | 400 |
    /// | `{claim.sub}`, `{ext.tenant}` | what [`values`](Self::values) gives | 500 |
    ///
    /// A query parameter, header or cookie that is sent twice is answered 400 `lock-key-invalid`.
    ///
    /// Cookies are read as tower-cookies (so tower-sessions) and `axum_extra` read them: spaces
    /// around name and value are dropped, both are percent-decoded, and quotes are a part of the
    /// value. A cookie that does not decode to UTF-8 is not there. Of two cookies of one name those
    /// crates take the last one; here they are answered 400.
    ///
    /// A path parameter without a type is compared as text, although the handler may take `7` and
    /// `007` for one thing, so the layer logs a warning: write `{id:u64}`, `{id:i64}`, `{id:uuid}`,
    /// `{id:lower}`, or `{id:text}` if text is meant.
    ///
    /// For [`Router::route_layer`](axum::Router::route_layer): elsewhere path parameters are
    /// unknown, and every request is answered 500 `lock-misconfigured`.
    ///
    /// # Errors
    ///
    /// [`KeyTemplateError`] when `template` is invalid, or names nothing of a request. Whether the
    /// route has the parameter is only checked when a request arrives.
    #[cfg(feature = "axum")]
    pub fn new(client: LockClient, template: &str) -> Result<Self, KeyTemplateError> {
        Self::multi(client, [template])
    }

    /// Creates a layer that locks several keys, each a template as for [`new`](Self::new): all of
    /// them are held, or none. Two such layers that name the same keys in different orders do not
    /// deadlock. Templates that produce the same key for a request lock it once.
    ///
    /// # Errors
    ///
    /// [`KeyTemplateError`] as for [`new`](Self::new), and when there is no template or a template
    /// is repeated.
    #[cfg(feature = "axum")]
    pub fn multi<'t>(
        client: LockClient,
        templates: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self, KeyTemplateError> {
        Ok(Self::from_templates(client, KeyTemplates::parse(templates)?, Some(Kind::default())))
    }

    /// Creates a layer for several locks of different kinds: a request has all of them, or none, and a
    /// refusal says which one was busy. Each [`LockTemplate`] has its own kind, mode, permits and weight, so
    /// [`kind`](Self::kind), [`mode`](Self::mode), [`semaphore`](Self::semaphore) and
    /// [`weight`](Self::weight) are mistakes beside it: 500 `lock-misconfigured`.
    ///
    /// Two nested layers would take the permit of the first while they wait for that of the second, so the
    /// waiting requests of one tenant would use up the limit of all. This layer acquires its locks in one
    /// step: a request that waits has none of them. (In a cluster of Redis that takes a common hash tag, and
    /// on ZooKeeper it is not possible; the layer logs a warning then. See
    /// [several keys](crate::request_lock#several-keys).)
    ///
    /// The [module docs](crate::request_lock#examples) have an example.
    ///
    /// # Errors
    ///
    /// [`KeyTemplateError`] as for [`multi`](Self::multi), and when two templates can give one key as two
    /// kinds of lock.
    #[cfg(feature = "axum")]
    pub fn all(
        client: LockClient,
        locks: impl IntoIterator<Item = LockTemplate>,
    ) -> Result<Self, KeyTemplateError> {
        Ok(Self::from_templates(client, KeyTemplates::of_locks(locks)?, None))
    }

    #[cfg(feature = "axum")]
    fn from_templates(client: LockClient, templates: KeyTemplates, kind: Option<Kind>) -> Self {
        if let Some(Untyped { what, help }) = templates.untyped() {
            tracing::warn!("in the key template `{}`: {what}; {help}", templates.sources());
        }
        let layer = Self::from_source(client, KeySource::Templates(Arc::new(templates)));
        layer.with(|policy| policy.kind = kind)
    }

    /// Creates a layer whose key is computed by a closure from the request's parts: headers, URI,
    /// extensions. It is called once per request, before the lock is acquired.
    ///
    /// The key may be a `String` or a [`LockKey`](crate::LockKey); an invalid key is answered 400
    /// `lock-key-invalid`. Pass values that a client chose through a [`Template`](crate::key::Template)
    /// or a [`KeyWriter`](crate::key::KeyWriter), which encode them. Pasted into a text, such a value
    /// could name another lock.
    pub fn with_key<F, K>(client: LockClient, key: F) -> Self
    where
        F: Fn(&Parts) -> Result<K, KeyRejection> + Send + Sync + 'static,
        K: IntoLockKey,
    {
        Self::with_keys(client, move |parts| Ok([key(parts)?]))
    }

    /// Creates a layer that locks several keys, computed by a closure from the request's parts,
    /// like [`with_key`](Self::with_key): all of them are held, or none. A repeated key is locked
    /// once; a request without keys is answered 500 `lock-misconfigured`.
    pub fn with_keys<F, I>(client: LockClient, keys: F) -> Self
    where
        F: Fn(&Parts) -> Result<I, KeyRejection> + Send + Sync + 'static,
        I: IntoIterator<Item: IntoLockKey>,
    {
        let keys = move |parts: &Parts| {
            let keys = keys(parts)?.into_iter().map(IntoLockKey::into_lock_key);
            Ok(keys.collect::<Result<_, _>>()?)
        };
        Self::from_source(client, KeySource::Closure(Arc::new(keys)))
    }

    fn from_source(client: LockClient, keys: KeySource) -> Self {
        let name = keys.templates().map_or(LockName::Fixed("request"), LockName::from);
        let policy = Arc::new(Policy::new(name, Some(Kind::default())).reading_bodies());
        let (values, on_missing_key) = (KeyValues::default(), OnMissingKey::default());
        let (mode, deadline_header, limit) = Default::default();
        let lock = RouteLock {
            permits: None,
            client,
            keys,
            values,
            on_missing_key,
            mode,
            policy,
            deadline_header,
            limit,
            preflights: PreflightRoutes::default(),
        };
        Self::of(Arc::new(lock))
    }

    fn of(lock: Arc<RouteLock>) -> Self {
        Self { lock, begun: Arc::new(Once::new()) }
    }

    /// Sets the kind of the lock. A kind without readers, such as [`Kind::Fair`], has one lock for
    /// every method; with [`LockMode::Read`] it is answered 500 `lock-misconfigured`. For permits of
    /// a semaphore see [`semaphore`](Self::semaphore). Default: [`Kind::ReadWrite`].
    pub fn kind(self, kind: Kind) -> Self {
        self.with(|policy| policy.kind = Some(kind))
    }

    /// Limits how many requests run at the same time under one key, in all processes together: each
    /// takes one of that many permits, in order of arrival. A request that gets none in time is
    /// answered 423 `lock-busy` unless [`answer_status`](Self::answer_status) or
    /// [`answer`](Self::answer) sets another answer. Permits have no fencing token, and inside a
    /// request each lock on the key takes further ones.
    ///
    #[cfg_attr(feature = "axum", doc = "```")]
    #[cfg_attr(not(feature = "axum"), doc = "```ignore")]
    /// use lock_tower::{LockClient, RequestLockLayer};
    ///
    /// // At most three exports of a tenant at once; a large one counts as two.
    /// let exports = || RequestLockLayer::new(LockClient::in_memory(), "exports:{tenant:lower}");
    /// let (small, large) = (exports()?.semaphore(3), exports()?.semaphore(3).weight(2));
    /// # let _ = (small, large);
    /// # Ok::<(), lock_tower::KeyTemplateError>(())
    /// ```
    pub fn semaphore(self, permits: u32) -> Self {
        self.kind(Kind::Semaphore).settings(|settings| settings.permits = Some(permits))
    }

    /// Limits how many requests run at the same time under one key, as [`semaphore`](Self::semaphore)
    /// does, by a number that depends on the request: such as the plan of its tenant. Requests of one
    /// key may have different numbers: each counts all permits in use by its own. On Redisson's wire the
    /// first request of a key sets its number, and those of later ones have no effect.
    ///
    #[cfg_attr(feature = "axum", doc = "```")]
    #[cfg_attr(not(feature = "axum"), doc = "```ignore")]
    /// # use lock_tower::{LockClient, RequestLockLayer};
    /// let exports = RequestLockLayer::new(LockClient::in_memory(), "exports:{tenant}")?
    ///     .semaphore_by(|request| if request.headers.contains_key("x-large") { 10 } else { 3 });
    /// # let _ = exports;
    /// # Ok::<(), lock_tower::KeyTemplateError>(())
    /// ```
    pub fn semaphore_by(self, permits: impl Fn(&Parts) -> u32 + Send + Sync + 'static) -> Self {
        let permits = PermitsOf::new(move |parts| Some(permits(parts)));
        self.kind(Kind::Semaphore).route(|lock| lock.permits = Some(permits))
    }

    /// Sets how many permits of a [`semaphore`](Self::semaphore) a request takes, all or none. Zero,
    /// or more than there are, is answered 500 `lock-misconfigured`. Default: 1.
    pub fn weight(self, permits: u32) -> Self {
        self.settings(|settings| settings.weight = Some(permits))
    }

    /// Sets whether requests read or write. Default: [`LockMode::ByMethod`].
    pub fn mode(self, mode: LockMode) -> Self {
        self.route(|lock| lock.mode = mode)
    }

    /// Sets how long a request waits for other holders, from the start of the acquisition, on this
    /// process' clock. With zero it never waits for another holder, only for the store's answer.
    /// Default: the client's, which is 1 s unless set.
    pub fn wait(self, wait: Duration) -> Self {
        self.settings(|settings| settings.wait = Some(wait))
    }

    /// Sets whether a request waits while another one holds the lock. With [`OnBusy::Fail`] it is refused
    /// at once, as with a [`wait`](Self::wait) of zero; beside a longer one it is answered 500
    /// `lock-misconfigured`. [`answer_status`](Self::answer_status) changes the status of the refusal. With
    /// [`OnBusy::Skip`] it does not run, at once or after a `wait` that is set too, and is answered 409
    /// `lock-skipped`, or with any status from 200 to 599. With [`OnBusy::Replace`] it cancels the other one: see
    /// [`replace_by`](Self::replace_by). Default: [`OnBusy::Wait`].
    pub fn on_busy(self, on_busy: OnBusy) -> Self {
        self.settings(|settings| settings.on_busy = Some(on_busy))
    }

    /// Sets which requests may replace another one, with [`OnBusy::Replace`], which requires it: the name of
    /// the placeholder that is the principal in the key, such as `"claim.sub"`, so that requests of two
    /// principals have two keys; or `"anyone"`. A name that is no placeholder of the key is answered 500
    /// `lock-misconfigured`.
    ///
    /// The layer acquires its lock before the handler decides whether the sender may touch the
    /// resource. With `"anyone"` a sender that can guess a key can cancel the work of every other one:
    /// put authorization outside the layer.
    ///
    /// ```
    /// use axum::{Router, routing::post};
    /// use lock_tower::{LockClient, RequestLockLayer, settings::OnBusy};
    ///
    /// async fn say() -> &'static str { "the answer of the model" }
    ///
    /// let lock = RequestLockLayer::new(LockClient::in_memory(), "chat:{header.x-user}:{id:uuid}")?
    ///     .on_busy(OnBusy::Replace)
    ///     .replace_by("header.x-user");
    /// let app: Router = Router::new().route("/chats/{id}", post(say)).route_layer(lock);
    /// # Ok::<(), lock_tower::KeyTemplateError>(())
    /// ```
    pub fn replace_by(self, by: &str) -> Self {
        self.settings(|settings| settings.replace_by = Some(ReplaceBy::parse(by)))
    }

    /// Sets how long a request that a newer one replaces may take to end, on the newer one's clock, before
    /// its lock is taken away, with [`OnBusy::Replace`]. The newer one waits that long in addition to its
    /// [`wait`](Self::wait). Default: 2 s.
    pub fn replace_after(self, after: Duration) -> Self {
        self.settings(|settings| settings.replace_after = Some(after))
    }

    /// Sets how long the store keeps the lock after the last renewal, on the store's clock, from
    /// 100 ms to a year. The lease is renewed while the request runs, so it bounds how long others
    /// are blocked when this process dies, not how long a request may take. A value out of bounds
    /// is answered 500 `lock-misconfigured`. Default: the client's, which is 30 s unless set.
    pub fn lease(self, lease: Duration) -> Self {
        self.settings(|settings| settings.lease = Some(lease))
    }

    /// Sets the longest time that a request may hold the lock, from the grant, on this process'
    /// clock, from 100 ms to a year. When it has passed, the lock is lost and the handler is
    /// cancelled. A value out of bounds is answered 500 `lock-misconfigured`. Default: no limit.
    pub fn max_hold(self, max_hold: Duration) -> Self {
        self.settings(|settings| settings.max_hold = Some(max_hold))
    }

    /// Sets when the body of a request is read. Default: [`RequestBody::Read`], before the
    /// lock is acquired: at most as many bytes as the route's `DefaultBodyLimit` allows (413
    /// `lock-body-too-large`), within [`body_timeout`](Self::body_timeout) (408), and for this layer 64
    /// MiB of all requests that wait (503 `lock-overloaded`). Only bodies of Axum's type are read; others
    /// are the handler's, as with [`RequestBody::Stream`].
    pub fn body(self, body: RequestBody) -> Self {
        self.settings(|settings| settings.body = Some(body))
    }

    /// Sets how long a body that is read before the lock may take, from the request's arrival at the
    /// layer, on this process' clock; then the request is answered 408 `lock-body-timeout`. Default:
    /// 10 s.
    pub fn body_timeout(self, timeout: Duration) -> Self {
        self.settings(|settings| settings.body_timeout = Some(timeout))
    }

    /// Sets whether a request that would wait forever is refused.
    /// See [`Acquire::refuse_deadlock`](lock_core::Acquire::refuse_deadlock): the answer is 409
    /// `lock-deadlock`. Default: the client's, and so `false`.
    pub fn refuse_deadlock(self, refuse_deadlock: bool) -> Self {
        self.settings(|settings| settings.refuse_deadlock = Some(refuse_deadlock))
    }

    /// Keeps the lock for at least this long from the grant, on this process' clock, although the
    /// request ends earlier: between two requests for one key there is then at least this much time.
    /// More than `max_hold` is answered 500 `lock-misconfigured`.
    /// See [`Acquire::hold_at_least`](lock_core::Acquire::hold_at_least). Default: zero.
    pub fn hold_at_least(self, time: Duration) -> Self {
        self.settings(|settings| settings.hold_at_least = Some(time))
    }

    /// Sets whether the lease is renewed while the request runs. Without renewal the lock is lost
    /// when the lease ends. Default: `true`.
    pub fn renew(self, renew: bool) -> Self {
        self.settings(|settings| settings.renew = Some(renew))
    }

    /// Sets the source of `{claim.x}` and `{ext.x}` in templates. Default: none.
    pub fn values(self, values: KeyValues) -> Self {
        self.route(|lock| lock.values = values)
    }

    /// Sets the lock's name in logs and problem documents, which clients can read. Default: the
    /// template, or all of them; for a closure, `request`.
    pub fn name(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.with(|policy| policy.rename(name.into()))
    }

    /// Sets how to handle a request that lacks a value of its key. Default:
    /// [`OnMissingKey::Reject`].
    pub fn on_missing_key(self, on_missing_key: OnMissingKey) -> Self {
        self.route(|lock| lock.on_missing_key = on_missing_key)
    }

    /// Reserves a part of the time until the request's [`RequestDeadline`](crate::RequestDeadline)
    /// for the handler. The wait is shortened by it, and a request with less time left is answered
    /// 503 `lock-overloaded` at once. Default: zero.
    pub fn reserve(self, reserve: Duration) -> Self {
        self.settings(|settings| settings.reserve = Some(reserve))
    }

    /// Sets a header with whole milliseconds by which a client may shorten its deadline, but not
    /// lengthen it: an earlier [`RequestDeadline`](crate::RequestDeadline) stays in force. An
    /// invalid header is answered 400 `lock-deadline-invalid`. The header `grpc-timeout` has gRPC's own
    /// units. Name one only where the clients are yours. Default: no header.
    pub fn deadline_header(self, name: HeaderName) -> Self {
        self.route(|lock| lock.deadline_header = Some(name))
    }

    /// Limits how many locks one principal may hold and wait for at once. Default: no limit.
    pub fn limit_principals(self, limit: PrincipalLimit) -> Self {
        self.route(|lock| lock.limit = Some(limit))
    }

    /// Sets whether a request that writes is refused at once, as when its wait has ended (423 `lock-busy`, with
    /// a `Retry-After`), where it would almost surely wait in vain: at least two requests ahead of it in this
    /// process wait for as long as it does, and half of the shortest of the last 32 holds under this layer,
    /// once for each of them, is longer than its wait. Default: `false`, because requests ahead whose clients
    /// disconnect, and the first short holds after long ones, cannot be foreseen. Fair kinds and semaphores, whose
    /// line is in the store, are waited for. Not with [`OnBusy::Replace`].
    pub fn refuse_early(self, refuse_early: bool) -> Self {
        self.settings(|settings| settings.refuse_early = Some(refuse_early))
    }

    /// Limits how many requests of this process may wait for one key; the next one is answered 503
    /// `lock-overloaded` at once. Default: the client's, which is 1,024 unless set.
    pub fn max_waiters(self, max_waiters: usize) -> Self {
        self.settings(|settings| settings.max_waiters = Some(max_waiters))
    }

    /// Limits how often an exclusive lock passes from one request of this process to the next,
    /// without the store, before others get it. With 0 each request contacts the store. Default:
    /// the client's, which is 63 unless set: see
    /// [`Acquire::max_local_handoffs`](lock_core::Acquire::max_local_handoffs).
    pub fn max_local_handoffs(self, max_local_handoffs: u32) -> Self {
        self.settings(|settings| settings.max_local_handoffs = Some(max_local_handoffs))
    }

    /// Limits how many requests of this process may share one read lease of the store. With 1 each
    /// request contacts the store. Default: the client's, which is 64 unless set: see
    /// [`Acquire::max_shared_readers`](lock_core::Acquire::max_shared_readers).
    pub fn max_shared_readers(self, max_shared_readers: u32) -> Self {
        self.settings(|settings| settings.max_shared_readers = Some(max_shared_readers))
    }

    /// Sets when the lock is released. Default: [`HoldUntil::Handler`].
    pub fn hold_until(self, hold_until: HoldUntil) -> Self {
        self.settings(|settings| settings.hold_until = Some(hold_until))
    }

    /// Sets what happens to the handler when the client disconnects. Default:
    /// [`OnDisconnect::Cancel`].
    pub fn on_disconnect(self, on_disconnect: OnDisconnect) -> Self {
        self.settings(|settings| settings.on_disconnect = Some(on_disconnect))
    }

    /// Sets what happens to the handler when the lock is lost. Default: [`OnLost::Cancel`].
    pub fn on_lost(self, on_lost: OnLost) -> Self {
        self.settings(|settings| settings.on_lost = Some(on_lost))
    }

    /// Sets what happens to requests while the store does not respond. Default:
    /// [`OnStoreDown::Closed`].
    pub fn on_store_down(self, on_store_down: OnStoreDown) -> Self {
        self.settings(|settings| settings.on_store_down = Some(on_store_down))
    }

    /// Sets whether the response waits for the release. Default: [`Release::Background`].
    pub fn release(self, release: Release) -> Self {
        self.settings(|settings| settings.release = Some(release))
    }

    /// Sets whether the response has the lock's fencing token, in the header `Lock-Fence`: for
    /// callers that write to a resource which checks it. There is no token, and no header, under a
    /// semaphore, without the lock, and with several keys. Default: `false`, because a token
    /// reveals how often a resource was locked.
    pub fn fence_header(self, fence_header: bool) -> Self {
        self.settings(|settings| settings.fence_header = Some(fence_header))
    }

    /// Sets for which requests the lock is enforced. Default: [`Enforce::On`].
    pub fn enforce(self, enforce: Enforce) -> Self {
        self.settings(|settings| settings.enforce = Some(enforce))
    }

    /// Sets the status of the answer to requests with this outcome, from 400 to 599 (of
    /// [`Outcome::Skipped`] from 200), in place of the one in [`Outcome`]'s table: in the status line, in the problem document and in OpenAPI. Any other status
    /// is logged when the layer is added, and requests that would be locked are answered 500
    /// `lock-misconfigured`. Answers to gRPC requests keep their codes.
    ///
    /// ```
    /// use http::StatusCode;
    /// use lock_tower::{LockClient, Outcome, RequestLockLayer, settings::OnBusy};
    ///
    /// // A second request for the report is answered 409 at once.
    /// let lock = RequestLockLayer::with_key(LockClient::in_memory(), |_| Ok("report"))
    ///     .on_busy(OnBusy::Fail)
    ///     .answer_status(Outcome::Busy, StatusCode::CONFLICT);
    /// # let _ = lock;
    /// ```
    pub fn answer_status(self, outcome: Outcome, status: StatusCode) -> Self {
        self.settings(|settings| settings.answers.entry(outcome).or_default().status = Some(status))
    }

    /// Uses `answer` for requests with this outcome in place of [`Outcome`]'s table: for another body, or
    /// a status below 400. The log line and the metrics stay, and so does the [`Outcome`] among the response's extensions.
    ///
    /// ```
    /// use http::{Response, StatusCode};
    /// use lock_tower::{LockClient, Outcome, RequestLockLayer};
    ///
    /// let lock = RequestLockLayer::with_key(LockClient::in_memory(), |_| Ok("report"))
    ///     .answer(Outcome::Busy, async |_| {
    ///         let mut response = Response::new("being written; here is yesterday's".into());
    ///         *response.status_mut() = StatusCode::OK;
    ///         response
    ///     });
    /// # let _ = lock;
    /// ```
    pub fn answer<F, A>(self, outcome: Outcome, answer: F) -> Self
    where
        F: Fn(RejectedRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Response<Bytes>> + Send + 'static,
    {
        let fallback = fallback(answer);
        self.with(|policy| _ = policy.fallbacks.insert(outcome, fallback))
    }

    fn settings(self, change: impl FnOnce(&mut LockSettings)) -> Self {
        self.with(|policy| change(&mut policy.settings))
    }

    fn with(self, change: impl FnOnce(&mut Policy)) -> Self {
        self.route(|lock| {
            let policy = Arc::make_mut(&mut lock.policy);
            policy.observes_nothing_yet();
            change(policy);
        })
    }

    /// A changed layer is a different lock, so its metrics start again.
    fn route(mut self, change: impl FnOnce(&mut RouteLock)) -> Self {
        change(Arc::make_mut(&mut self.lock));
        Self::of(self.lock)
    }
}

impl<S> Layer<S> for RequestLockLayer {
    type Service = RequestLock<S>;

    fn layer(&self, inner: S) -> RequestLock<S> {
        let policy = &self.lock.policy;
        self.begun.call_once(|| {
            metrics::begin(&policy.name, self.lock.modes());
            self.lock.warn_of_streams();
            self.lock.warn_of_steps();
            self.lock.log_refused();
        });
        RequestLock::new(inner, Arc::clone(&self.lock))
    }
}
