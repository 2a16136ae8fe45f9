//! A lock by hand, beside which `lock-tower` is measured: by the program `repeat` of this crate, whose
//! instructions are counted, and by the benchmark.
#![allow(
    missing_docs,
    missing_debug_implementations,
    clippy::missing_panics_doc,
    reason = "measurements"
)]

mod dial;
mod hand_rolled;
mod on_their_way;
mod redissons_hash;

pub use dial::dial;
pub use hand_rolled::{HandRolled, Held, POLL};
pub use on_their_way::OnTheirWay;
pub use redissons_hash::{HashHeld, RedissonsHash};

/// Longer than any run.
pub const LEASE: std::time::Duration = std::time::Duration::from_secs(30);
