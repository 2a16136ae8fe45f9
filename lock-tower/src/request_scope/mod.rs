//! A scope and a lock client for each request, for handlers that acquire their own locks.
//!
//! `#[distributed_lock]` on a handler uses the client of the layer around it. Without a
//! [`RequestLockLayer`](crate::RequestLockLayer), this layer provides one, and opens the
//! [`Scope`](crate::Scope) in which all locks of one request are reentrant.
//!
//! # Examples
//!
#![cfg_attr(all(feature = "axum", feature = "macros"), doc = "```")]
#![cfg_attr(not(all(feature = "axum", feature = "macros")), doc = "```ignore")]
//! use axum::{Router, extract::Path, routing::put};
//! use lock_tower::{LockClient, RequestScopeLayer, distributed_lock};
//!
//! #[distributed_lock(key = "order:{id}", wait = "2s")]
//! async fn update(Path(id): Path<u64>) -> String {
//!     format!("order {id} is ours alone")
//! }
//!
//! let app: Router = Router::new()
//!     .route("/orders/{id}", put(update))
//!     .layer(RequestScopeLayer::new(LockClient::in_memory()));
//! ```
//!
//! It needs no route, so it may be anywhere outside of the handlers, once for the whole router.
//! Inside another layer of this crate it shares that layer's scope and replaces the client.
//!
//! With the client in the router's state, the attribute needs no layer: `client = state`, and
//! `LockClient: FromRef<State>`. A state that lacks it makes the handler fail the `Handler` bound;
//! `#[axum::debug_handler]` shows the reason.
//!
//! # Testing a handler under the attribute
//!
//! Send it a request, with a client in memory. Hold the key in the test to see the handler's answer
//! when the lock is busy:
//!
#![cfg_attr(all(feature = "axum", feature = "macros"), doc = "```")]
#![cfg_attr(not(all(feature = "axum", feature = "macros")), doc = "```ignore")]
//! # use axum::{Router, body::Body, extract::Path, routing::put};
//! # use lock_tower::{LockClient, RequestScopeLayer, distributed_lock};
//! use http::Request;
//! use tower::ServiceExt;
//!
//! # #[distributed_lock(key = "order:{id}", wait = "0s")]
//! # async fn update(Path(id): Path<u64>) -> String {
//! #     format!("order {id} is ours alone")
//! # }
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let locks = LockClient::in_memory();
//! let app: Router = Router::new()
//!     .route("/orders/{id}", put(update))
//!     .layer(RequestScopeLayer::new(locks.clone()));
//!
//! let request = || Request::put("/orders/42").body(Body::empty());
//! assert_eq!(app.clone().oneshot(request()?).await?.status(), 200);
//!
//! let elsewhere = locks.write("order:42").acquire().await?;
//! assert_eq!(app.oneshot(request()?).await?.status(), 423);
//! # drop(elsewhere);
//! # Ok(()) }
//! ```

mod layer;
mod service;

pub use layer::RequestScopeLayer;
pub use service::RequestScope;

pub use crate::pipeline::response_future::ResponseFuture;
