//! Tables as they stand in the documentation.

use std::fmt::{self, Display, Formatter};

use super::{Curve, Report, Table, median_and_range, plain, spread};

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
        writeln!(f, "{}", self.met())
    }
}

impl super::Ratio {
    /// Whether the median meets the goal.
    pub(super) fn is_met(&self) -> Option<bool> {
        self.goal.is_met(self.spread.median)
    }
}

impl Report {
    /// Every figure that has a goal.
    pub(super) fn goals(&self) -> Table {
        let row = |ratio: &super::Ratio| {
            let met = if ratio.is_met()? { "yes" } else { "**no**" };
            let name = format!("`{}`", ratio.name);
            let value = median_and_range(ratio.goal.beside(ratio.spread.median), ratio.spread);
            Some(vec![name, ratio.part.clone(), value, ratio.goal.to_string(), met.to_owned()])
        };
        Table {
            title: "Goals",
            note: "Medians, with minimum and maximum. A figure *of* another one is a ratio, taken \
                   within each run."
                .to_owned(),
            columns: vec!["measurement", "figure", "value", "goal", "met"],
            rows: self.ratios.iter().filter_map(row).collect(),
        }
    }

    /// How many goals are met.
    pub(super) fn met(&self) -> String {
        let goals: Vec<bool> = self.ratios.iter().filter_map(super::Ratio::is_met).collect();
        let met = goals.iter().filter(|met| **met).count();
        format!("{met} of {} goals are met.", goals.len())
    }
}

impl Curve {
    pub(super) fn table(&self) -> Table {
        let mut columns = vec![self.x];
        columns.extend(self.lines.iter().map(|line| line.title));
        let points = self.lines.first().map_or(0, |line| line.points.len());
        let row = |point: usize| {
            let x = self.lines.first().map(|line| plain(line.points[point].0));
            x.into_iter().chain(self.lines.iter().map(move |line| spread(line.points[point].1)))
        };
        let rows = (0..points).map(|point| row(point).collect()).collect();
        Table { title: self.title, note: format!("{}.", self.y), columns, rows }
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "### {}\n\n{}\n\n{}", self.title, self.note, self.rows())
    }
}

impl Table {
    /// The table without its title.
    pub(super) fn rows(&self) -> String {
        let mut text = format!("| {} |\n", self.columns.join(" | "));
        text += &format!("|{}\n", "---|".repeat(self.columns.len()));
        for row in &self.rows {
            text += &format!("| {} |\n", row.join(" | "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use lock_tests::figures::Spread;

    use super::*;
    use crate::report::Goal;

    #[test]
    fn figures_are_shown_beside_their_goals() {
        let mut report = Report::default();
        let spread = Spread { median: 2.0, min: 1.0, max: 3.0 };
        report.ratio("fast", "lock", spread, Goal::AtLeast(2.0));
        report.ratio("small", "lock", spread, Goal::AtMost(1.5));
        report.ratio("beside", "lock", spread, Goal::Reported);
        let text = report.to_string();
        assert!(text.contains("| `fast` | lock | 2.00 (1.00 to 3.00) | >= 2 | yes |"), "{text}");
        assert!(text.contains("| `small` | lock | 2.00 (1.00 to 3.00) | <= 1.5 | **no** |"));
        assert!(!text.contains("beside"), "{text}");
        assert!(text.contains("1 of 2 goals are met."), "{text}");
    }
}
