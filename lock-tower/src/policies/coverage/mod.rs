//! Compares a service's routes with its policies.

mod missing_parameters;
mod route;
mod table;
mod unused_attributes;

pub use route::Route;
pub use table::RouteTable;
#[cfg(feature = "utoipa")]
pub(in crate::policies) use table::rules;
