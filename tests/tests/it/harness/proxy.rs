//! Each fault of the proxy is that fault and no other.

mod black_hole;
mod cut;
mod half;
mod passing;
mod pieces;
mod socket;

use std::time::Duration;

const SET: &[u8] = b"SET key value\r\n";
const OK: &[u8] = b"+OK\r\n";

/// Long enough to see an answer that should not come; a slow machine cannot make it come.
const MOMENT: Duration = Duration::from_millis(100);
