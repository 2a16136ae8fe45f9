//! Thousands of schedules on a faulty store under a paused clock: the promises must hold whatever
//! the fate of each step, wherever a future is dropped, and whenever the client is shut down.

mod bounds;
mod cancelled;
mod doubt;
mod ending;
mod majority;
mod polled;
mod public_operations;
mod random;
mod releases;
mod reservations;
mod suspended;
mod tries;
mod two_clients;
