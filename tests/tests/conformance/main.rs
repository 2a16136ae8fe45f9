//! What every backend must do, written once and run on each: what Redisson's and Curator's own
//! tests check of each kind of lock, and what they do not.
#![allow(missing_docs, clippy::unwrap_used)]

mod crashes;
mod hand_over;
mod kinds;
mod leases;
mod looking;
mod matrix;
mod modes;
mod multi;
mod order;
mod red_lock;
mod refusals;
mod scopes;
mod semaphore;
mod sharing;
mod starvation;
mod state;
mod waiting;
mod world;
