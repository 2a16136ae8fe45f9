//! Which routes have which policies, and what is left over on either side.

mod missing_parameters;
mod route;
mod table;
mod unused_attributes;

pub use route::Route;
pub use table::RouteTable;
