//! Many processes at one lock: who is let in before whom, and that everybody is in the end.
#![allow(missing_docs, clippy::unwrap_used)]

mod crowd;
mod fair;
mod multi;
mod streams;
