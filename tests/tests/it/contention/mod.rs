//! Many processes at one lock: the order in which they enter, and that all enter in the end.

mod crowd;
mod fair;
mod limits;
mod multi;
mod once;
mod permits;
mod slots;
mod streams;
mod tickets;
