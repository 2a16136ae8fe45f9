//! The tests of lock-tower, in one program. A module that needs features of the crate names them.
#![allow(missing_docs, clippy::unwrap_used)]

#[cfg(feature = "admin")]
mod admin_page;
#[cfg(feature = "axum")]
mod answers;
#[cfg(all(feature = "axum", feature = "macros", feature = "testing"))]
mod asserted;
#[cfg(all(feature = "axum", feature = "macros"))]
mod attribute;
#[cfg(feature = "axum")]
mod body;
mod common;
#[cfg(all(feature = "axum", feature = "macros"))]
mod deadlines;
#[cfg(all(feature = "axum", feature = "macros"))]
mod disconnect;
#[cfg(feature = "axum")]
mod draining;
#[cfg(all(feature = "axum", feature = "macros"))]
mod dropped_inside;
#[cfg(feature = "axum")]
mod ends;
#[cfg(feature = "axum")]
mod ensure;
#[cfg(all(feature = "axum", feature = "macros"))]
mod fence;
#[cfg(feature = "axum")]
mod fence_header;
mod fenced_table;
#[cfg(feature = "tonic")]
mod grpc;
#[cfg(all(feature = "axum", feature = "macros"))]
mod jobs;
#[cfg(feature = "axum")]
mod keep;
#[cfg(feature = "axum")]
mod key_sources;
#[cfg(all(feature = "axum", feature = "macros"))]
mod keys;
#[cfg(all(feature = "axum", feature = "macros"))]
mod kinds;
#[cfg(feature = "timeout")]
mod layers;
#[cfg(feature = "axum")]
mod lock_rejection;
#[cfg(all(feature = "axum", feature = "macros"))]
mod locked;
#[cfg(all(feature = "axum", feature = "macros"))]
mod lost;
#[cfg(feature = "axum")]
mod lost_signal;
#[cfg(feature = "policy")]
mod metrics;
#[cfg(feature = "axum")]
mod modes;
#[cfg(all(feature = "macros", feature = "policy", feature = "utoipa"))]
mod openapi;
#[cfg(feature = "axum")]
mod outcomes;
#[cfg(all(feature = "macros", feature = "policy"))]
mod outside_requests;
mod park;
mod plain_tower;
#[cfg(all(feature = "macros", feature = "policy", feature = "testing"))]
mod policy_attributes;
#[cfg(feature = "policy")]
mod policy_explained;
#[cfg(all(feature = "macros", feature = "policy", feature = "testing"))]
mod policy_fields;
#[cfg(all(feature = "macros", feature = "policy", feature = "testing"))]
mod policy_places;
#[cfg(all(feature = "macros", feature = "policy", feature = "testing"))]
mod policy_reload;
#[cfg(feature = "policy")]
mod preflight;
mod principal_limit;
#[cfg(feature = "axum")]
mod refuse_early;
#[cfg(all(feature = "axum", feature = "macros"))]
mod replace;
#[cfg(all(feature = "axum", feature = "macros"))]
mod request_body;
mod scopes;
#[cfg(all(feature = "axum", feature = "macros"))]
mod semaphore;
#[cfg(feature = "sessions")]
mod sessions;
#[cfg(all(feature = "axum", feature = "macros"))]
mod several_keys;
#[cfg(all(feature = "macros", feature = "policy"))]
mod several_kinds;
#[cfg(all(feature = "axum", feature = "macros"))]
mod shadow;
#[cfg(all(feature = "axum", feature = "macros", feature = "policy", feature = "testing"))]
mod skip;
#[cfg(feature = "axum")]
mod spans;
#[cfg(all(feature = "axum", feature = "macros"))]
mod store_down;
#[cfg(all(feature = "axum", feature = "macros"))]
mod work;
