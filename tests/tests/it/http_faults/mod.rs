//! HTTP under fault: two replicas of a service, one Redis, and clients that leave, dawdle, hang up
//! half-way or come in thousands; replicas that are restarted; a Redis that hangs.
//!
//! Whether a request was alone is seen by what it has locked, a [`Room`](lock_tests::Room), and never
//! by the lock.

mod asking;
mod crowds;
mod disconnects;
mod half_closed;
mod restarts;
mod silent_redis;
mod slow_clients;
mod two_replicas;
