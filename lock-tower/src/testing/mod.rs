//! Tools for a service's tests: in-memory locks that a test can hold, lose or make unavailable
//! without a server, and a detector of overlapping critical sections.
//!
//! Behind the feature `testing`, for `[dev-dependencies]`.
//!
//! # Examples
//!
//! A test of a handler whose order is busy, whose lock is lost, and whose lock store is down:
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
//!     .route_layer(RequestLockLayer::new(locks.client(), "order:{id:u64}")?);
//! let request = || Request::put("/orders/7").body(Body::empty());
//!
//! let elsewhere = locks.hold("order:7").await;
//! assert_eq!(app.clone().oneshot(request()?).await?.status(), 423);
//! drop(elsewhere);
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
//! Locks in memory follow Tokio's clock. Under `#[tokio::test(start_paused = true)]` it stops while
//! any task is runnable and jumps forward when all tasks wait, so a lease of an hour expires at
//! once ([`TestLocks::pass`]).

#[cfg(feature = "policy")]
mod axum_routes;
mod locks;
mod overlaps;
#[cfg(feature = "policy")]
mod rules;
#[doc(hidden)]
pub mod untrusted_input;

#[cfg(feature = "policy")]
pub use axum_routes::routes;
pub use locks::TestLocks;
pub use overlaps::{OverlapGuard, Overlaps};
#[cfg(feature = "policy")]
pub use rules::rules_of;
