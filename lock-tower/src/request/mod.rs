//! The state of one request: its deadline, its principal, the locks around it.

pub(crate) mod context;
pub(crate) mod deadline;
pub(crate) mod deadline_header;
pub(crate) mod grpc_timeout;
pub(crate) mod lock_slot;
pub(crate) mod principal_limit;
pub(crate) mod seen_routes;
pub(crate) mod wait_budget;
