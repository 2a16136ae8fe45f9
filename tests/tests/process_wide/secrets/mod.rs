//! What must never be seen, searched for in everything that can be: errors, Debug of all that a
//! program may print, the log at its finest level with that of the redis crate, metrics, panics,
//! answers. (`lockctl` has its own: `lockctl::connecting`.)

mod output;
mod owners;
mod passwords;
