//! From a request over a real socket to Redis and back: the examples and small services.
#![allow(clippy::unwrap_used)]

mod background_release;
mod banks;
mod buyers;
mod deleted_key;
mod endings;
mod examples;
mod job;
mod long_request;
mod outage;
mod problem;
mod quickstart;
mod quickstart_settings;
mod restart;
mod service;
mod shop;
mod stopped_process;
mod two_shops;
