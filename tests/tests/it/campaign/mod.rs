//! A short fault campaign on two deployments: the program that runs for an hour, for twenty seconds on
//! each.
//!
//! `cargo run --release -p lock-chaos -- --help` says how to run a longer one.

use std::time::Duration;

use lock_tests::{Process, Wire, workspace_binary};
use serde_json::Value;

const SECONDS: u64 = 20;
/// Starting servers and looking at what was written down come on top of the faults.
const PATIENCE: Duration = Duration::from_secs(240);

async fn campaign(wire: Wire, deployment: &str) {
    let seed = u32::from_ne_bytes(random());
    let directory = tempfile::tempdir().unwrap();
    let figures = directory.path().join("figures.json");
    let minutes = SECONDS as f64 / 60.0;
    let campaign = Process::builder(workspace_binary("campaign").await)
        .arg(format!("--minutes={minutes}"))
        .arg(format!("--seed={seed}"))
        .arg(format!("--deployment={deployment}"))
        .arg(format!("--wire={}", wire.name()))
        .arg("--json")
        .arg(&figures)
        .start();
    let ended = campaign.exited(PATIENCE).await;
    println!("{}", campaign.output());
    assert!(ended.success(), "seed {seed} on {deployment}:\n{}", campaign.output());

    let figures: Value = serde_json::from_slice(&std::fs::read(&figures).unwrap()).unwrap();
    let figures = &figures["deployments"][deployment];
    let count = |what: &str| figures[what].as_u64().unwrap();
    let faults = figures["faults"].as_object().unwrap().values();
    assert!(faults.map(|count| count.as_u64().unwrap()).sum::<u64>() > 0);
    // Every checker had records to check.
    for what in ["grants", "tokens_compared", "fenced_writes", "notices", "long_waits"] {
        assert!(count(what) > 0, "seed {seed} on {deployment}: no {what}");
    }
    for what in ["fenced_lost", "leftovers", "findings"] {
        assert_eq!(count(what), 0, "seed {seed} on {deployment}: {what}");
    }
}

/// One server always, and one of the others, as the clock chooses: each takes a minute of both cores.
/// One after the other in one test, because tests that wait for their turn keep others from starting.
#[tokio::test]
async fn on_one_server_and_on_one_of_the_others() {
    campaign(Wire::Native, "standalone").await;
    let others = [
        (Wire::Native, "sentinel"),
        (Wire::Native, "cluster"),
        (Wire::Native, "zookeeper"),
        (Wire::Redisson, "standalone"),
    ];
    let (wire, deployment) = others[usize::from(random()[0]) % others.len()];
    campaign(wire, deployment).await;
}

fn random() -> [u8; 4] {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).unwrap();
    bytes
}
