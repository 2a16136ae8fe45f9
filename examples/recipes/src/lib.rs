//! One file per recipe of `docs/recipes.md`, each with its test.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod blocking;
pub mod cors;
pub mod events;
pub mod limits;
pub mod migrations;
pub mod queued_jobs;
pub mod scheduled_jobs;
pub mod several_clients;
#[cfg(test)]
mod testing;
pub mod unit_tests;
pub mod uploads;
pub mod web_socket;
pub mod webhooks;
