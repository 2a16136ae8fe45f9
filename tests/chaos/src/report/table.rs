//! The figures as a table.

use std::{collections::BTreeSet, fmt};

use super::figures::{Figures, OfSort, millis};
use crate::{clock::Nanos, rows::ROWS};

const REFUSALS: [&str; 11] = [
    "busy",
    "unavailable",
    "overloaded",
    "wrong kind",
    "lost",
    "draining",
    "cancelled",
    "killed",
    "replaced",
    "found",
    "gone",
];

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
        self.line(f, "losses reported in time", |of| of.notices)?;
        self.line(f, "waits of more than a second", |of| of.stalls)?;
        self.millis(f, "longest wait for a lock that was free", |of| of.longest_stall)?;
        self.line(f, "times that the machine kept a worker off a processor for 100 ms", |of| {
            of.starved
        })?;
        self.millis(f, "longest of them", |of| of.longest_starved)?;
        self.line(f, "killed holders that others waited for", |of| of.heirs)?;
        self.millis(f, "longest wait after a dead holder's lease", |of| of.longest_inheritance)?;
        self.line(f, "refused as unavailable beside no fault", |of| of.unexplained.values().sum())?;
        self.line(f, "releases while the waiter in front was gone", |of| of.left_to_the_gone)?;
        self.millis(f, "longest time until such a lock was granted", |of| of.longest_left)?;
        self.line(f, "holders replaced", |of| of.replaced)?;
        self.line(f, "locks taken from a holder before it knew", |of| of.taken)?;
        self.line(f, "results made", |of| of.fills)?;
        self.line(f, "terms led", |of| of.terms)?;
        self.line(f, "tickets resumed", |of| of.resumed)?;
        self.line(f, "fenced writes", |of| of.fenced)?;
        self.line(f, "fenced writes lost", |of| of.fenced_lost)?;
        self.line(f, "late writes refused", |of| of.stale)?;
        self.line(f, "unfenced writes", |of| of.open)?;
        self.line(f, "unfenced writes lost", |of| of.open_lost)?;
        self.line(f, "killed while holding", |of| of.killed_holding)?;
        self.line(f, "killed in a fair line", |of| of.killed_in_line)?;
        self.line(f, "keys left over", |of| of.leftovers)?;
        self.line(f, "kept by a clock that jumped back", |of| of.kept_by_the_clock)?;
        self.line(f, "**promises broken**", |of| of.findings)?;
        if self.not_counted > 0 {
            writeln!(f, "\n{} slices are not counted: they could not be healed", self.not_counted)?;
        }
        let reasons: BTreeSet<&String> =
            self.of.values().flat_map(|of| of.unexplained.keys()).collect();
        if !reasons.is_empty() {
            writeln!(f, "\n| refused beside no fault, because |{sorts} in all |\n|---|{rule}")?;
        }
        for reason in reasons {
            self.line(f, reason, |of| of.unexplained.get(reason).copied().unwrap_or_default())?;
        }
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

impl Figures {
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

/// 1234567 as 1,234,567.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
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
