//! The events around a finding, for the analysis.

use std::{collections::BTreeMap, fmt::Write};

use crate::{
    check::{Evidence, Finding, Past},
    clock::{Nanos, SECOND},
};

/// So many findings of each checker are shown in full; the rest are counted.
const REPORTED: usize = 3;
/// What happened so long before and after.
const AROUND: Nanos = 3 * SECOND;
const MOST_LINES: usize = 60;

/// Findings with what happened to their keys meanwhile, in order of time; seconds count from the
/// first acquisition of the slice.
pub(crate) fn story(evidence: &Evidence, past: &Past, findings: &[Finding]) -> String {
    let zero = past.requests.iter().map(|ask| ask.at).min().unwrap_or_default();
    let mut text = String::new();
    let mut by_check: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        by_check.entry(finding.check).or_default().push(finding);
    }
    for (check, findings) in by_check {
        for finding in findings.iter().take(REPORTED) {
            let at = seconds(finding.at, zero);
            let key = finding.key.as_deref().unwrap_or("-");
            let _ = writeln!(text, "  {check} at {at:.6} on {key}: {}", finding.what);
            for (at, line) in around(evidence, past, finding).into_iter().take(MOST_LINES) {
                let _ = writeln!(text, "    {:>11.6} {line}", seconds(at, zero));
            }
        }
        let _ = writeln!(text, "  {check}: {} in all", findings.len());
    }
    text
}

fn seconds(at: Nanos, zero: Nanos) -> f64 {
    (at as f64 - zero as f64) / 1e9
}

fn around(evidence: &Evidence, past: &Past, finding: &Finding) -> Vec<(Nanos, String)> {
    let Some(key) = finding.key.as_ref().filter(|_| finding.at > 0) else { return Vec::new() };
    let (from, to) = (finding.at.saturating_sub(AROUND), finding.at + SECOND);
    let near = |begin: Nanos, end: Nanos| begin <= to && from <= end;
    let mut lines = Vec::new();
    for window in evidence.windows.iter().filter(|window| near(window.begin, window.end)) {
        let what = format!("{:?} row {}.{}", window.lane, window.row, window.variant);
        lines.push((window.begin, format!("{what} begins")));
        lines.push((window.end, format!("{what} is healed")));
    }
    for ask in past.requests.iter().filter(|ask| near(ask.at, ask.end) && ask.keys.contains(key)) {
        let (worker, access, life) = (ask.worker, ask.access, ask.life);
        lines.push((ask.at, format!("worker {worker} ({life}) requests to {access:?}")));
        lines.push((ask.end, format!("worker {worker} ({life}) hears {:?}", ask.answer)));
    }
    for hold in past.holds.iter().filter(|hold| near(hold.begin, hold.last) && hold.key == *key) {
        let (worker, access, token) = (hold.worker, hold.access, hold.token.unwrap_or_default());
        let lease = hold.lease / 1_000_000;
        let begins =
            format!("worker {worker} holds to {access:?}, token {token}, lease {lease} ms");
        lines.push((hold.begin, begins));
        let reported = hold.reported.map_or("", |_| " (lost)");
        lines.push((hold.last, format!("worker {worker} believes for the last time{reported}")));
    }
    lines.sort();
    // The nearest to the finding, where there are too many.
    let first =
        lines.partition_point(|(at, _)| *at < finding.at).saturating_sub(MOST_LINES * 2 / 3);
    lines.split_off(first)
}
