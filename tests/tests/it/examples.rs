//! Tests that stand in the examples as a model for their readers. They run in this program: two
//! programs less to link.

#[path = "../../../examples/custom-store/tests/conformance.rs"]
mod custom_store;
#[allow(dead_code, reason = "its `main` does not run here")]
#[path = "../../../examples/src/bin/handlers/main.rs"]
mod handlers;
#[allow(dead_code, reason = "its `main` does not run here")]
#[path = "../../../examples/src/bin/oauth_token.rs"]
mod oauth_token;
