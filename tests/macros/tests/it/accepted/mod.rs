//! Uses that the attribute accepts. That this program compiles is the test; the test functions use the
//! items, as a service would.

mod client_from_state;
mod functions;
mod handlers;
mod other_attributes;
