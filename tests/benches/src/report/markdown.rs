//! Tables as they stand in the documentation.

use std::fmt::{self, Display, Formatter};

use super::{Curve, Goal, Report, Table, figure, spread};

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(short) = self.short() {
            writeln!(f, "{short}")?;
        }
        if !self.ratios.is_empty() {
            writeln!(f, "{}", self.goals())?;
        }
        for table in &self.tables {
            writeln!(f, "{table}")?;
        }
        for curve in &self.curves {
            writeln!(f, "{}", curve.table())?;
        }
        let missed: Vec<_> = self.ratios.iter().filter(|ratio| ratio.is_missed()).collect();
        for ratio in &missed {
            let (name, part, value) = (ratio.name, &ratio.part, figure(ratio.spread.median));
            writeln!(f, "missed: {name} ({part}): {value}, goal {}", ratio.goal)?;
        }
        let with_goal = self.ratios.iter().filter(|ratio| ratio.goal != Goal::Reported).count();
        writeln!(f, "{} of {with_goal} goals met", with_goal - missed.len())
    }
}

impl super::Ratio {
    fn is_missed(&self) -> bool {
        self.goal.is_met(self.spread) == Some(false)
    }
}

impl Report {
    fn goals(&self) -> Table {
        let row = |ratio: &super::Ratio| {
            let met = match ratio.goal.is_met(ratio.spread) {
                Some(true) => "yes",
                Some(false) => "**no**",
                None => "",
            };
            let name = format!("`{}`", ratio.name);
            vec![name, ratio.part.clone(), spread(ratio.spread), ratio.goal.to_string(), met.into()]
        };
        Table {
            title: "Ratios",
            note: "Medians, with minimum and maximum, of ratios taken pair by pair.".to_owned(),
            columns: vec!["ratio", "of", "value", "goal", "met"],
            rows: self.ratios.iter().map(row).collect(),
        }
    }
}

impl Curve {
    fn table(&self) -> Table {
        let mut columns = vec![self.x];
        columns.extend(self.lines.iter().map(|line| line.title));
        let points = self.lines.first().map_or(0, |line| line.points.len());
        let row = |point: usize| {
            let x = self.lines.first().map(|line| format!("{:.0}", line.points[point].0));
            x.into_iter().chain(self.lines.iter().map(move |line| spread(line.points[point].1)))
        };
        let rows = (0..points).map(|point| row(point).collect()).collect();
        Table { title: self.title, note: format!("{}.", self.y), columns, rows }
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "### {}\n\n{}\n", self.title, self.note)?;
        writeln!(f, "| {} |", self.columns.join(" | "))?;
        writeln!(f, "|{}", "---|".repeat(self.columns.len()))?;
        for row in &self.rows {
            writeln!(f, "| {} |", row.join(" | "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use lock_tests::figures::Spread;

    use super::*;

    #[test]
    fn the_report_lists_missed_goals() {
        let mut report = Report::default();
        let spread = Spread { median: 2.0, min: 1.0, max: 3.0 };
        report.ratio("fast", "lock", spread, Goal::AtLeast(2.0));
        report.ratio("small", "lock", spread, Goal::AtMost(1.5));
        report.ratio("beside", "lock", spread, Goal::Reported);
        let text = report.to_string();
        assert!(text.contains("| `fast` | lock | 2.00 (1.00 to 3.00) | >= 2 | yes |"), "{text}");
        assert!(text.contains("| `small` | lock | 2.00 (1.00 to 3.00) | <= 1.5 | **no** |"));
        assert!(text.contains("missed: small (lock): 2.00, goal <= 1.5\n1 of 2 goals met\n"));
    }
}
