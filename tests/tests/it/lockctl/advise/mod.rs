//! `advise`: what it works out is what happens then.

mod diff;
mod input;
mod kinds;
mod load;
mod log;
mod recorded;
mod scrapes;
mod workload;
