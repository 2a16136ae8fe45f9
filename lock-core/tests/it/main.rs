//! The tests of lock-core, in one program: linking is most of what a build of tests costs.
#![allow(missing_docs, clippy::unwrap_used)]

mod breaker;
mod deadlock;
mod edges;
mod ensure;
mod followers;
mod hand_over;
mod latest_wins;
mod leader;
mod linger;
#[cfg(debug_assertions)]
mod lock_order;
mod log_keys;
mod lose;
mod multi_lock;
mod observed;
mod observer;
mod once;
mod once_per;
mod own_store;
mod park;
mod red_lock;
mod reentry;
mod reported;
mod schedules;
mod several_clients;
mod sharing;
mod statistics;
mod virtual_time;
mod work;
