//! The documentation's tables of metrics and labels.

use std::collections::{BTreeMap, BTreeSet};

const TABLES: &str = include_str!("../../../../lock-tower/src/telemetry/metrics.md");

fn rows(begin: &str) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = TABLES.lines().filter(move |row| row.starts_with(begin));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
}

/// What stands between backticks.
fn words(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The labels of each metric.
pub(crate) fn metrics() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let rows = rows("| `lock_");
    rows.map(|row| (words(row[0]).next().unwrap(), words(row[3]).collect())).collect()
}

/// Type and meaning of a metric.
pub(crate) fn reported(metric: &str) -> (&'static str, &'static str) {
    let row = rows("| `lock_").find(|row| words(row[0]).eq([metric])).unwrap();
    (row[1], row[4])
}

/// The values that a label may have; none: whatever the service calls things.
pub(crate) fn values(label: &str) -> BTreeSet<&'static str> {
    let row = rows("| `").find(|row| words(row[0]).eq([label])).unwrap();
    words(row[1]).collect()
}

/// Of which metric a series is a part.
pub(crate) fn metric_of(series: &str) -> &str {
    let parts = ["_bucket", "_sum", "_count"];
    parts.iter().find_map(|part| series.strip_suffix(part)).unwrap_or(series)
}
