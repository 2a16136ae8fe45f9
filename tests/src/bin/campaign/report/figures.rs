//! The figures of a campaign, as a table and as JSON.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde_json::{Value, json};

use crate::{
    check::{Answer, Evidence, Past, Verdict},
    clock::Nanos,
    deployment::Sort,
    history::Refusal,
    rows::ROWS,
};

/// Rows that count what workers did themselves, and those that count what was found afterwards.
const BY_WORKERS: std::ops::RangeInclusive<u8> = 28..=36;

#[derive(Default)]
struct OfSort {
    time: Duration,
    grants: u64,
    refusals: BTreeMap<&'static str, u64>,
    waits: Vec<Nanos>,
    faults: BTreeMap<u8, u64>,
    killed_holding: u64,
    killed_in_line: u64,
    overlaps: u64,
    pairs: u64,
    tokens: u64,
    notices: u64,
    stalls: u64,
    longest_stall: Nanos,
    heirs: u64,
    longest_inheritance: Nanos,
    fenced: u64,
    fenced_lost: u64,
    stale: u64,
    open: u64,
    open_lost: u64,
    leftovers: u64,
    findings: u64,
}

/// Everything that was counted, by deployment.
pub(crate) struct Figures {
    seed: u64,
    schedule: u64,
    last_grants: u64,
    of: BTreeMap<Sort, OfSort>,
}

impl Figures {
    pub(crate) fn new(seed: u64, schedule: u64) -> Self {
        Self { seed, schedule, last_grants: 0, of: BTreeMap::new() }
    }

    pub(crate) fn add(
        &mut self,
        evidence: &Evidence,
        past: &Past,
        verdict: &Verdict,
        time: Duration,
    ) {
        let of = self.of.entry(evidence.sort).or_default();
        of.time += time;
        let before = of.grants;
        for ask in &past.asks {
            match &ask.answer {
                Answer::Granted => {
                    of.grants += 1;
                    of.waits.push(ask.end - ask.at);
                }
                Answer::Refused(why) => *of.refusals.entry(name(why)).or_default() += 1,
                Answer::Killed => *of.refusals.entry("killed").or_default() += 1,
                Answer::Missing => *of.refusals.entry("missing").or_default() += 1,
            }
        }
        self.last_grants = of.grants - before;
        let injected = evidence.windows.iter().filter(|window| window.injected);
        let rows = injected.map(|window| window.row).filter(|row| !BY_WORKERS.contains(row));
        for row in rows.chain(past.rows.iter().copied()) {
            *of.faults.entry(row).or_default() += 1;
        }
        of.killed_holding += past.killed_holding;
        of.killed_in_line += past.killed_in_line;
        of.overlaps += verdict.allowed;
        of.pairs += verdict.pairs_in_order;
        of.tokens += verdict.tokens;
        of.notices += verdict.notices;
        of.stalls += verdict.stalls_looked_at;
        of.longest_stall = of.longest_stall.max(verdict.longest_stall);
        of.heirs += verdict.heirs;
        of.longest_inheritance = of.longest_inheritance.max(verdict.longest_inheritance);
        of.fenced += evidence.tally.fenced_writes;
        of.fenced_lost += evidence.tally.fenced_lost;
        of.stale += evidence.tally.stale;
        of.open += evidence.tally.open_writes;
        of.open_lost += evidence.tally.open_lost;
        of.leftovers += evidence.leftovers.len() as u64;
        of.findings += verdict.findings.len() as u64;
    }

    pub(crate) fn last_grants(&self) -> u64 {
        self.last_grants
    }

    pub(crate) fn findings(&self) -> u64 {
        self.of.values().map(|of| of.findings).sum()
    }

    pub(crate) fn json(&self) -> Value {
        let of_sort = |(sort, of): (&Sort, &OfSort)| {
            let waits = of.waits();
            let value = json!({
                "seconds": of.time.as_secs_f64(),
                "grants": of.grants,
                "refusals": of.refusals,
                "faults": of.faults.iter().map(|(row, count)| (row.to_string(), count)).collect::<BTreeMap<_, _>>(),
                "killed_holding": of.killed_holding,
                "killed_in_line": of.killed_in_line,
                "wait_ms": { "p50": waits[0], "p99": waits[1], "max": waits[2] },
                "overlaps_where_data_were_lost": of.overlaps,
                "pairs_in_order": of.pairs,
                "tokens_compared": of.tokens,
                "notices": of.notices,
                "long_waits": of.stalls,
                "longest_stall_ms": millis(of.longest_stall),
                "killed_holders_with_waiters": of.heirs,
                "longest_after_the_lease_of_the_dead_ms": millis(of.longest_inheritance),
                "fenced_writes": of.fenced,
                "fenced_lost": of.fenced_lost,
                "stale_refused": of.stale,
                "unfenced_writes": of.open,
                "unfenced_lost": of.open_lost,
                "leftovers": of.leftovers,
                "findings": of.findings,
            });
            (sort.to_string(), value)
        };
        let deployments: serde_json::Map<_, _> = self.of.iter().map(of_sort).collect();
        json!({
            "seed": self.seed,
            "schedule": format!("{:016x}", self.schedule),
            "deployments": deployments,
        })
    }

    /// One line of the table: what it is, each deployment's, and perhaps the sum.
    fn line(
        &self,
        f: &mut fmt::Formatter<'_>,
        what: &str,
        of: impl Fn(&OfSort) -> u64,
    ) -> fmt::Result {
        let each: Vec<u64> = self.of.values().map(of).collect();
        let cells: String = each.iter().map(|count| format!(" {} |", grouped(*count))).collect();
        writeln!(f, "| {what} |{cells} {} |", grouped(each.iter().sum()))
    }

    /// The same for times, which have no sum.
    fn millis(
        &self,
        f: &mut fmt::Formatter<'_>,
        what: &str,
        of: impl Fn(&OfSort) -> Nanos,
    ) -> fmt::Result {
        let cells: String =
            self.of.values().map(|it| format!(" {:.0} |", millis(of(it)))).collect();
        writeln!(f, "| {what}, ms |{cells} |")
    }
}

impl OfSort {
    /// Half of all grants, 99 of 100 and all of them took no longer, in milliseconds.
    fn waits(&self) -> [f64; 3] {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        let last = waits.len().saturating_sub(1);
        [last / 2, last * 99 / 100, last].map(|at| waits.get(at).map_or(0.0, |wait| millis(*wait)))
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sorts: String = self.of.keys().map(|sort| format!(" {sort} |")).collect();
        let rule = "---:|".repeat(self.of.len() + 1);
        writeln!(f, "| seed {}, schedule {:016x} |{sorts} in all |", self.seed, self.schedule)?;
        writeln!(f, "|---|{rule}")?;
        self.line(f, "seconds of faults", |of| of.time.as_secs())?;
        self.line(f, "grants", |of| of.grants)?;
        self.line(f, "faults", |of| of.faults.values().sum())?;
        for why in REFUSALS {
            self.line(f, &format!("not granted: {why}"), |of| {
                of.refusals.get(why).copied().unwrap_or_default()
            })?;
        }
        let waits: Vec<_> = self.of.values().map(OfSort::waits).collect();
        for (what, at) in [("p50", 0), ("p99", 1), ("longest", 2)] {
            let cells: String = waits.iter().map(|waits| format!(" {:.1} |", waits[at])).collect();
            writeln!(f, "| wait of the granted, {what}, ms |{cells} |")?;
        }
        self.line(f, "overlaps where data were lost by nature", |of| of.overlaps)?;
        self.line(f, "tokens compared", |of| of.tokens)?;
        self.line(f, "pairs of fair waiters in order", |of| of.pairs)?;
        self.line(f, "losses told in time", |of| of.notices)?;
        self.line(f, "waits of more than a second", |of| of.stalls)?;
        self.millis(f, "longest wait for a lock that was free", |of| of.longest_stall)?;
        self.line(f, "killed holders that others waited for", |of| of.heirs)?;
        self.millis(f, "longest wait after a dead holder's lease", |of| of.longest_inheritance)?;
        self.line(f, "fenced writes", |of| of.fenced)?;
        self.line(f, "fenced writes lost", |of| of.fenced_lost)?;
        self.line(f, "late writes refused", |of| of.stale)?;
        self.line(f, "unfenced writes", |of| of.open)?;
        self.line(f, "unfenced writes lost", |of| of.open_lost)?;
        self.line(f, "killed while holding", |of| of.killed_holding)?;
        self.line(f, "killed in a fair line", |of| of.killed_in_line)?;
        self.line(f, "keys left over", |of| of.leftovers)?;
        self.line(f, "**promises broken**", |of| of.findings)?;
        writeln!(f, "\n| row of faults |{sorts} in all |\n|---|{rule}")?;
        for row in &ROWS {
            match row.elsewhere {
                Some(why) => writeln!(f, "| {}: {}: {why} | |", row.number, row.what)?,
                None => self.line(f, &format!("{}: {}", row.number, row.what), |of| {
                    of.faults.get(&row.number).copied().unwrap_or_default()
                })?,
            }
        }
        Ok(())
    }
}

const REFUSALS: [&str; 8] =
    ["busy", "unavailable", "overloaded", "wrong kind", "lost", "draining", "cancelled", "killed"];

fn name(why: &Refusal) -> &'static str {
    match why {
        Refusal::Busy => "busy",
        Refusal::Overloaded => "overloaded",
        Refusal::Unavailable(_) => "unavailable",
        Refusal::Lost => "lost",
        Refusal::WrongKind => "wrong kind",
        Refusal::Draining => "draining",
        Refusal::Cancelled => "cancelled",
        Refusal::Other(_) => "other",
    }
}

fn millis(time: Nanos) -> f64 {
    time as f64 / 1e6
}

/// 1234567 as 1,234,567.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([1, 999, 1_000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
    }
}
