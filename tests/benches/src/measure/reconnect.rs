//! The bytes that a client sends when it connects again.

use lock_tests::{CutOff, Wire, figures::Spread};

use crate::{
    report::{Goal, Report},
    setup::BenchSetup,
};

pub(super) async fn reconnect(world: &BenchSetup) -> Report {
    let mut client = CutOff::connect(Wire::Native, world.server(), "").await;
    let mut bytes = Vec::new();
    for _ in 0..world.repeats() {
        bytes.push(client.reconnect().await as f64);
    }
    let mut report = Report::default();
    let part = "bytes sent to a server that has the scripts";
    report.ratio("reconnect_bytes", part, Spread::of(bytes), Goal::AtMost(1_000.0));
    report
}
