//! What tests of a service need: locks that can be held by somebody else, lost, or out of reach,
//! at will and without a server; and a watch over who is inside at the same time.
//!
//! Behind the feature `testing`, for `[dev-dependencies]`.
//!
//! # Examples
//!
//! A handler, tested for what it does when its order is busy, when its lock is lost, and when the
//! lock store is down:
//!
#![cfg_attr(feature = "axum", doc = "```")]
#![cfg_attr(not(feature = "axum"), doc = "```ignore")]
//! use axum::{Router, body::Body, routing::put};
//! use http::Request;
//! use lock_tower::{RequestLockLayer, testing::TestLocks};
//! use tower::ServiceExt;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let locks = TestLocks::new();
//! let app: Router = Router::new()
//!     .route("/orders/{id}", put(|| async { "changed" }))
//!     .route_layer(RequestLockLayer::new(locks.client(), "order:{id}")?);
//! let request = || Request::put("/orders/7").body(Body::empty());
//!
//! let somebody = locks.hold("order:7").await;
//! assert_eq!(app.clone().oneshot(request()?).await?.status(), 423);
//! drop(somebody);
//!
//! locks.store_down();
//! assert_eq!(app.clone().oneshot(request()?).await?.status(), 503);
//! locks.store_up().await;
//!
//! assert_eq!(app.oneshot(request()?).await?.status(), 200);
//! # Ok(()) }
//! ```
//!
//! # The clock
//!
//! Locks in memory follow Tokio's clock. Under `#[tokio::test(start_paused = true)]` it stands still
//! while anybody has something to do and jumps when all wait: a lease of an hour is over in no time
//! ([`TestLocks::pass`]).

#[cfg(feature = "policy")]
mod axum_routes;
mod locks;
mod overlaps;
#[doc(hidden)]
pub mod untrusted_input;

#[cfg(feature = "policy")]
pub use axum_routes::routes;
pub use locks::TestLocks;
pub use overlaps::{OverlapGuard, Overlaps};
