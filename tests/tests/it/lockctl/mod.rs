//! The command line, run as operators run it: files, and locks that are really held.

mod completions;
mod connecting;
mod crowd;
mod docs;
mod files;
mod graph;
mod hostile;
mod inspect;
mod list;
mod man;
mod output;
mod program;
mod release;
mod usage;
mod watch;
mod zookeeper;
