//! What came of it: tables, ratios with their goals, curves.

mod json;
mod markdown;
mod short;

use lock_tests::figures::Spread;

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) tables: Vec<Table>,
    pub(crate) ratios: Vec<Ratio>,
    pub(crate) curves: Vec<Curve>,
}

pub(crate) struct Table {
    pub(crate) title: &'static str,
    /// What the figures are and how they came about.
    pub(crate) note: String,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// A figure that has a goal, or stands beside one that has. Several parts of one name are met
/// together.
pub(crate) struct Ratio {
    pub(crate) name: &'static str,
    pub(crate) part: String,
    pub(crate) spread: Spread,
    pub(crate) goal: Goal,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    /// Without a goal: shown beside the others.
    Reported,
}

/// The cost of one operation against how much of something there is.
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    pub(crate) lines: Vec<Line>,
}

pub(crate) struct Line {
    pub(crate) title: &'static str,
    pub(crate) points: Vec<(f64, Spread)>,
}

impl Goal {
    /// Of the median.
    pub(crate) fn is_met(self, spread: Spread) -> Option<bool> {
        match self {
            Self::AtLeast(goal) => Some(spread.median >= goal),
            Self::AtMost(goal) => Some(spread.median <= goal),
            Self::Reported => None,
        }
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(goal) => write!(f, ">= {goal}"),
            Self::AtMost(goal) => write!(f, "<= {goal}"),
            Self::Reported => Ok(()),
        }
    }
}

impl Report {
    pub(crate) fn add(&mut self, mut other: Self) {
        self.tables.append(&mut other.tables);
        self.ratios.append(&mut other.ratios);
        self.curves.append(&mut other.curves);
    }

    pub(crate) fn ratio(
        &mut self,
        name: &'static str,
        part: impl Into<String>,
        spread: Spread,
        goal: Goal,
    ) {
        self.ratios.push(Ratio { name, part: part.into(), spread, goal });
    }
}

/// With as many digits as are significant.
pub(crate) fn figure(value: f64) -> String {
    if value.is_infinite() {
        return "never".to_owned();
    }
    let digits = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// The median, and from where to where it went.
pub(crate) fn spread(spread: Spread) -> String {
    let Spread { median, min, max } = spread;
    format!("{} ({} to {})", figure(median), figure(min), figure(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_by_the_median() {
        let spread = Spread { median: 1.0, min: 0.5, max: 2.0 };
        assert_eq!(Goal::AtLeast(1.0).is_met(spread), Some(true));
        assert_eq!(Goal::AtLeast(1.01).is_met(spread), Some(false));
        assert_eq!(Goal::AtMost(1.0).is_met(spread), Some(true));
        assert_eq!(Goal::AtMost(0.99).is_met(spread), Some(false));
        assert_eq!(Goal::Reported.is_met(spread), None);
    }

    #[test]
    fn figures_have_three_digits_or_more() {
        assert_eq!(figure(12_345.6), "12346");
        assert_eq!(figure(12.34), "12.3");
        assert_eq!(figure(1.234), "1.23");
        assert_eq!(figure(0.1234), "0.123");
        assert_eq!(figure(f64::INFINITY), "never");
        let spread = spread(Spread { median: 1.0, min: 0.5, max: 20.0 });
        assert_eq!(spread, "1.00 (0.500 to 20.0)");
    }
}
