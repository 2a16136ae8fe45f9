//! The page for operators: in a real browser, over real sockets, on a real Redis.

mod hot_keys;
mod in_a_browser;
mod many_locks;
mod other_sites;
mod replicas;
