//! Many processes at one lock: who is let in before whom, and that everybody is in the end.

mod crowd;
mod fair;
mod multi;
mod streams;
