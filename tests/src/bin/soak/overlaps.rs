//! Holds of one key that overlap: the replicas' logs have the span of each.

use crate::{Soak, locked};

/// From the grant to the end of the work, in seconds of the wall clock.
pub(crate) type Hold = (f64, f64);

/// The log has the length of a span in three digits.
const PRECISION: f64 = 0.01;

/// The holds of imports, which all have one key, in the log of a process.
pub(crate) fn holds(log: &str) -> impl Iterator<Item = Hold> {
    log.lines().filter(|line| line.contains("lock.hold{policy=\"import\"")).filter_map(hold)
}

/// `2026-11-28T22:10:00.123456Z  INFO lock.hold{.. held_ms=20}: ..: close time.busy=1.2ms time.idle=20ms`
fn hold(line: &str) -> Option<Hold> {
    let field = |name| line.split_once(name)?.1.split([' ', '}']).next();
    let open = seconds(field("time.busy=")?)? + seconds(field("time.idle=")?)?;
    let held = field("held_ms=")?.parse::<f64>().ok()? / 1e3;
    let granted = time(line.split(' ').next()?)? - open;
    // The span outlives the hold for a moment, in which the next holder may be granted the lock.
    Some((granted, granted + held))
}

/// `1.5s`, `20.1ms`, `700µs`, `90ns`
fn seconds(text: &str) -> Option<f64> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let scale = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * scale)
}

/// `2026-11-28T22:10:00.123456Z` in seconds since 1970.
fn time(text: &str) -> Option<f64> {
    let mut parts = text.trim_end_matches('Z').split(['-', 'T', ':']);
    let mut whole = || parts.next()?.parse::<i64>().ok();
    let (year, month, day, hour, minute) = (whole()?, whole()?, whole()?, whole()?, whole()?);
    let second: f64 = parts.next()?.parse().ok()?;
    // Years begin in March here, so that a leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    Some((days * 86_400 + hour * 3_600 + minute * 60) as f64 + second)
}

#[derive(Debug)]
pub(crate) struct Overlaps {
    pub(crate) holds: usize,
    /// Replication is asynchronous: the new primary may not know the last grants.
    pub(crate) after_failovers: usize,
}

/// Compares the holds of both replicas.
pub(crate) fn check(soak: &Soak) -> Overlaps {
    let holds = locked(&soak.holds).clone();
    let mut overlaps = Overlaps { holds: holds.len(), after_failovers: 0 };
    for (one, other) in pairs(holds) {
        if soak.failovers.explain(other.0, soak.args.lease) {
            overlaps.after_failovers += 1;
        } else {
            soak.wrong(format!("holds of one key overlap: {one:?} and {other:?}"));
        }
    }
    overlaps
}

/// Pairs of which the second was granted while the first was held.
fn pairs(mut holds: Vec<Hold>) -> Vec<(Hold, Hold)> {
    holds.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut found = Vec::new();
    let Some(mut longest) = holds.first().copied() else { return found };
    for hold in &holds[1..] {
        let precision = PRECISION * (longest.1 - longest.0 + hold.1 - hold.0) + 0.001;
        if hold.0 + precision < longest.1 {
            found.push((longest, *hold));
        }
        if hold.1 > longest.1 {
            longest = *hold;
        }
    }
    found
}
