//! A lock for each request, without touching the handlers.
//!
//! # Examples
//!
//! A template over path parameters, with default settings: `GET`, `HEAD` and `OPTIONS` read, every
//! other method writes, and a request waits up to a second.
//!
#![cfg_attr(feature = "axum", doc = "```")]
#![cfg_attr(not(feature = "axum"), doc = "```ignore")]
//! use axum::{Router, routing::get};
//! use lock_tower::{LockClient, RequestLockLayer};
//!
//! let lock = RequestLockLayer::new(LockClient::in_memory(), "order:{id:u64}")?;
//! let app: Router = Router::new()
//!     .route("/orders/{id}", get(|| async { "shown" }).put(|| async { "changed" }))
//!     .route_layer(lock);
//! # Ok::<(), lock_tower::KeyTemplateError>(())
//! ```
//!
//! With all common settings:
//!
#![cfg_attr(feature = "axum", doc = "```")]
#![cfg_attr(not(feature = "axum"), doc = "```ignore")]
//! use std::time::Duration;
//! use axum::{Router, routing::post};
//! use lock_tower::{LockClient, settings::LockMode, RequestLockLayer};
//!
//! let recount = RequestLockLayer::new(LockClient::in_memory(), "stock:{path.sku:lower}")?
//!     .name("recount")
//!     .mode(LockMode::Write)
//!     .wait(Duration::ZERO) // a second request is refused at once
//!     .lease(Duration::from_secs(10))
//!     .max_hold(Duration::from_secs(60));
//! let app: Router = Router::new()
//!     .route("/stock/{sku}/recount", post(|| async { "counted" }))
//!     .route_layer(recount);
//! # Ok::<(), lock_tower::KeyTemplateError>(())
//! ```
//!
//! Several keys at once, all of them or none, with another [`Kind`](crate::Kind):
//!
#![cfg_attr(feature = "axum", doc = "```")]
#![cfg_attr(not(feature = "axum"), doc = "```ignore")]
//! use axum::{Router, routing::post};
//! use lock_tower::{Kind, LockClient, RequestLockLayer};
//!
//! let accounts = ["account:{from:u64}", "account:{to:u64}"];
//! let transfer = RequestLockLayer::multi(LockClient::in_memory(), accounts)?
//!     .name("transfer")
//!     .kind(Kind::Fair); // first come, first served, whatever the method
//! let app: Router = Router::new()
//!     .route("/pay/{from}/{to}", post(|| async { "paid" }))
//!     .route_layer(transfer);
//! # Ok::<(), lock_tower::KeyTemplateError>(())
//! ```
//!
//! Several locks of different kinds at once, all of them or none: a limit for all, one for each tenant,
//! and a lock on the report:
//!
#![cfg_attr(feature = "axum", doc = "```")]
#![cfg_attr(not(feature = "axum"), doc = "```ignore")]
//! use axum::{Router, routing::post};
//! use lock_tower::{LockClient, RequestLockLayer, key::LockTemplate};
//!
//! let exports = RequestLockLayer::all(
//!     LockClient::in_memory(),
//!     [
//!         LockTemplate::semaphore("exports", 8),
//!         LockTemplate::semaphore("exports:{tenant:lower}", 2),
//!         LockTemplate::write("report:{id:u64}"),
//!     ],
//! )?;
//! let app: Router = Router::new()
//!     .route("/tenants/{tenant}/reports/{id}", post(|| async { "exported" }))
//!     .route_layer(exports.name("export"));
//! # Ok::<(), lock_tower::KeyTemplateError>(())
//! ```
//!
//! A closure over the request's parts, for any Tower service and any part of a request. The values
//! go through a [`Template`](crate::key::Template), as path parameters do, so that no client can forge
//! the key of another:
//!
//! ```
//! use std::convert::Infallible;
//! use http::{Request, Response, request::Parts};
//! use http_body_util::BodyExt;
//! use lock_tower::{key::{KeyRejection, Template}, LockClient, RequestLockLayer};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let template = Template::parse("tenant:{tenant:lower}")?;
//! let by_tenant = move |parts: &Parts| {
//!     let tenant = parts.headers.get("x-tenant").and_then(|value| value.to_str().ok());
//!     let tenant = tenant.ok_or(KeyRejection::missing("the header `x-tenant` is missing"))?;
//!     Ok(template.render(|_| Ok::<_, KeyRejection>(tenant.into()))?)
//! };
//! let service = ServiceBuilder::new()
//!     .layer(RequestLockLayer::with_key(LockClient::in_memory(), by_tenant).name("tenant"))
//!     .service(service_fn(|_: Request<()>| async {
//!         Ok::<_, Infallible>(Response::new("done".to_owned()))
//!     }));
//!
//! let response = service.oneshot(Request::new(())).await?;
//! assert_eq!(response.status(), 400);
//! let body = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
//! assert!(str::from_utf8(&body)?.contains("the header `x-tenant` is missing"));
//! # Ok(()) }
//! ```
//!
//! # Where the layer goes
//!
//! Put it on the router, with `Router::route_layer` after the routes it is for: there the path
//! parameters are known, and a request without a route (404) takes no lock. A request whose method
//! its route lacks (405) does take the lock briefly, unless the layer is on the methods:
//! `get(show).put(update).route_layer(lock)`. Outside of the router, or where a route lacks the
//! parameter that the template names, every request is answered 500 `lock-misconfigured`, and the
//! log has the reason.
//!
//! Among other layers, from the outside to the inside: tracing, catching of panics, CORS, timeout,
//! authentication, **lock**, handler. Then the lock's refusals have the headers of CORS, the time spent
//! waiting for the lock is traced and limited by the timeout, and a client without access to the resource
//! cannot lock it. Limits of concurrency and load shedding belong outside of the lock too, with room for the
//! requests that wait in it.
//!
//! Where a CORS layer is inside of the lock, it answers preflights without the lock: from the first one of a
//! route on that it was seen to answer. Other preflights are locked as `OPTIONS` is, since a client can send
//! one to any route, and a handler of `axum::routing::any` would run for it.
//!
//! # When the lock is taken and released
//!
//! The body of a request is read before the lock is acquired, so that a client which uploads
//! slowly does not hold it ([`RequestLockLayer::body`]). That takes a body of Axum's type: around another
//! service, or with [`RequestBody::Stream`](crate::settings::RequestBody::Stream), the handler reads it under the
//! lock; then set a [`max_hold`](RequestLockLayer::max_hold). A layer outside of this one that changes the
//! body's type has the same effect, which is logged once. The attribute acquires the lock after the
//! extractors have run.
//!
//! The lock is released when the handler has returned its response, before the response is sent; a
//! body that is streamed afterwards is not protected. It is also released when the handler panics,
//! when a timeout outside drops the request, and when the client disconnects. The response does not
//! wait for the release. The release is sent in the background, and the next request *in this
//! process* is ordered behind it.
//!
//! A task that the handler spawns is protected only until the handler returns. It can watch
//! [`Locked::lost`](crate::Locked::lost).
//!
//! # When the lock is lost
//!
//! A lock is lost when the lock store no longer has it, when no renewal succeeded before the lease
//! expired, or when `max_hold` has passed. Then the handler is dropped at its current `.await` and
//! not polled again, and the answer is 503 `lock-lost`, with `"executed": "unknown"`. The handler's
//! earlier effects remain.
//!
//! # One scope per request
//!
//! The outermost layer opens a [`Scope`](crate::Scope) for the request; layers, attributes and
//! acquisitions inside share it, so on one key they enter the same hold instead of waiting for each
//! other. The first must not be a reader if a later one is a writer, all must have the same kind,
//! and a non-reentrant lock can be acquired only once. Tasks that are spawned inside do not inherit
//! the scope.
//!
//! # Several keys
//!
//! All keys are acquired, or none: while the request waits for one of them, it holds none of the
//! others in the store. (In a cluster this needs a common hash tag. Otherwise the keys are acquired
//! one after another in the order of their names, in every layer, attribute and process.) Other
//! processes may acquire them meanwhile; in this process other requests queue for them behind the
//! waiting one, unless it is a fair lock or a semaphore.
//!
//! So two requests for the same keys in different orders do not deadlock. This applies to the keys
//! of one layer or attribute. A nested layer or attribute acquires its keys while the outer ones
//! are held, so two requests that nest the same keys in different orders wait for each other until
//! a wait ends.
//!
//! [`Locked`](crate::Locked) has a fencing token for each key. The loss of any key cancels the
//! handler.
//!
//! Locks of different kinds, such as a limit for all, one for each tenant and a lock on the report, are
//! acquired in the same way: [`RequestLockLayer::all`]. A refusal says which of them was busy: the
//! member `busy` of the problem document is its template.
//!
//! # The answers
//!
//! See [`Outcome`](crate::Outcome). [`answer_status`](RequestLockLayer::answer_status) changes the status of
//! one, [`answer`](RequestLockLayer::answer) all of it. The `Retry-After` of a busy lock is based on how long the holds
//! of this layer have lasted so far. It has jitter, so that clients do not retry together, and is
//! at most two seconds.

mod layer;
#[cfg(feature = "utoipa")]
mod responses;
mod service;
#[cfg(feature = "sessions")]
mod session;

pub use layer::RequestLockLayer;
pub use service::RequestLock;

pub use crate::{
    outcome::rejected_request::RejectedRequest,
    pipeline::{body::LockBody, response_future::ResponseFuture},
};
