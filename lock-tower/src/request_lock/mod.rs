//! A lock for each request, without touching the handlers.
//!
//! # Examples
//!
//! By a template over path parameters, in the defaults: `GET`, `HEAD` and `OPTIONS` read, every
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
//! With everything that can be set:
//!
#![cfg_attr(feature = "axum", doc = "```")]
#![cfg_attr(not(feature = "axum"), doc = "```ignore")]
//! use std::time::Duration;
//! use axum::{Router, routing::post};
//! use lock_tower::{LockClient, LockMode, RequestLockLayer};
//!
//! let recount = RequestLockLayer::new(LockClient::in_memory(), "stock:{path.sku:lower}")?
//!     .name("recount")
//!     .mode(LockMode::Write)
//!     .wait(Duration::ZERO) // who comes second is refused at once
//!     .lease(Duration::from_secs(10))
//!     .max_hold(Duration::from_secs(60));
//! let app: Router = Router::new()
//!     .route("/stock/{sku}/recount", post(|| async { "counted" }))
//!     .route_layer(recount);
//! # Ok::<(), lock_tower::KeyTemplateError>(())
//! ```
//!
//! On several keys at once, all of them or none, and of another [`Kind`](crate::Kind):
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
//! By a closure over the request's parts, for any Tower service and any part of a request. The
//! values go through a [`Template`](crate::Template), as path parameters do, so that no client can
//! forge the key of another:
//!
//! ```
//! use std::convert::Infallible;
//! use http::{Request, Response, request::Parts};
//! use http_body_util::BodyExt;
//! use lock_tower::{KeyRejection, LockClient, RequestLockLayer, Template};
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
//! On the router, by `Router::route_layer` after the routes it is for: there the path parameters
//! are known and a request for no route (404) takes no lock. A request with a method that its
//! route does not have (405) does take the lock for a moment, unless the layer is on the methods:
//! `get(show).put(update).route_layer(lock)`. Outside of the router, or where a route lacks the
//! parameter that the template names, every request is answered 500 `lock-misconfigured`, with a
//! line in the log that says why.
//!
//! Among other layers, from the outside to the inside: tracing, catching of panics, timeout,
//! authentication, **lock**, handler. So the time that is spent waiting for the lock is traced and
//! limited by the timeout, and nobody without a right to the resource can lock it. Limits of
//! concurrency and load shedding belong outside of the lock too, with room for those who wait in
//! it.
//!
//! # When the lock is taken and released
//!
//! It is taken before the request's body is read: who uploads slowly holds it for as long. The
//! attribute takes it after the extractors have run; or set a [`max_hold`](RequestLockLayer::max_hold).
//!
//! It is released when the handler has returned its response, before that is sent; a body that is
//! streamed afterwards is not protected. It is released, too, when the handler panics, when a
//! timeout outside drops the request, and when the client hangs up. Never is the answer held back
//! for it: the release goes its way in the background, and the next request *in this process* is
//! ordered behind it.
//!
//! A task that the handler spawns is not under the lock for longer than the handler. It can watch
//! [`Locked::lost`](crate::Locked::lost).
//!
//! # When the lock is lost
//!
//! The lock store no longer knows it, renewal did not get through before the lease ran out, or
//! `max_hold` is over: then the handler is dropped at its current `.await`, not one poll more of it
//! happens, and the answer is 503 `lock-lost`, with `"executed": "unknown"`. What the handler had
//! done by then stays done.
//!
//! # One scope per request
//!
//! The outermost layer opens a [`Scope`](crate::Scope) for the request; layers, attributes and
//! acquisitions inside share it, so on one key they enter the same hold instead of waiting for
//! each other. Only the first may not be a reader if a later one is a writer, all have to be of one
//! kind, and a non-reentrant lock is taken once. Tasks that are spawned inside do not inherit the
//! scope.
//!
//! # Several keys
//!
//! They are acquired all or none: while one of them is waited for, none of the others is held in the
//! store. (In a cluster: when they share a hash tag. Otherwise they are taken one after another in
//! the order of their names, in every layer, attribute and process.) Other processes may take them
//! meanwhile; in this one, others queue for them behind the one that waits, unless the kind is fair.
//!
//! So two requests for the same keys in different orders do not wait for each other for ever. That
//! holds for the keys of one layer or attribute; one inside another takes its own while the outer
//! ones are held, and two requests that nest the same keys in different orders end when their waits
//! do.
//!
//! [`Locked`](crate::Locked) has a fencing token for each key. The first that is lost cancels the
//! handler.
//!
//! # The answers
//!
//! See [`Outcome`](crate::Outcome). The `Retry-After` of a busy lock comes from how long the holds
//! of this layer have lasted so far, is different for each client so that they do not all come
//! back together, and is at most two seconds.

mod layer;
mod service;

pub use layer::RequestLockLayer;
pub use service::RequestLock;

pub use crate::pipeline::response_future::ResponseFuture;
