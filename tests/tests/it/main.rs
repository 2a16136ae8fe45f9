//! The tests of the workspace that need servers, processes or files, in one program: a module for
//! each kind. What replaces something of its whole process is in the program `process_wide`.
#![allow(missing_docs, clippy::unwrap_used)]

mod admin;
mod campaign;
mod conformance;
mod contention;
mod deployments;
mod end_to_end;
mod examples;
mod faults;
#[cfg(target_os = "linux")]
mod figures;
mod harness;
mod http_faults;
mod interop;
mod layout;
mod lockctl;
mod migrating;
mod model;
mod observability;
mod policy_file;
mod scripts;
