//! A short form of the soak that runs for an hour before a release (CONTRIBUTING.md).

use std::time::Duration;

use lock_tests::Process;

const PATIENCE: Duration = Duration::from_secs(240);

/// A figure of its first table.
fn figure(report: &str, name: &str) -> u64 {
    let row = format!("| {name} | ");
    let value = report.lines().find_map(|line| line.strip_prefix(&row)?.strip_suffix(" |"));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {report}"))
}

#[tokio::test]
async fn two_replicas_are_restarted_and_redis_fails_over() {
    let soak = Process::builder(env!("CARGO_BIN_EXE_soak"))
        .arg("--minutes=0.15")
        .arg("--restart-every=6")
        .arg("--failover-every=6")
        .arg("--lease=4")
        .arg("--scrape-every=1")
        .start();
    let ended = soak.exited(PATIENCE).await;
    let report = soak.output();
    assert!(ended.success(), "{report}");
    // Every check had something to check.
    for name in
        ["failovers", "requests answered", "left by their clients", "holds of one key compared"]
    {
        assert!(figure(&report, name) > 0, "no {name}: {report}");
    }
}
