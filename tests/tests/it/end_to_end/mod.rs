//! From a request over a real socket to Redis and back: the examples and small services.

mod background_release;
mod banks;
mod before_response;
mod buyers;
mod deleted_key;
mod endings;
mod examples;
mod job;
mod key_bytes;
pub(crate) mod local_service;
mod long_request;
mod outage;
mod outcome_scene;
mod outcome_table;
mod problem;
mod quickstart;
mod quickstart_settings;
mod readme_walk;
mod reload;
mod restart;
mod shop;
mod stopped_process;
mod two_shops;
mod zookeeper;
