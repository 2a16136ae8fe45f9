//! What holds for the scripts of every kind of lock, on both wires: arguments, headers, replies, costs,
//! tokens, memory.

pub(crate) mod arguments;
mod bounds;
mod clock_backwards;
mod command_counts;
mod fencing_token;
mod foreign_key;
mod headers;
mod memory_limit;
mod quick;
mod replies;
mod sharded;
mod together;
mod wire_arguments;
