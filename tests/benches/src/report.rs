//! The results: tables, ratios with their goals, curves.

mod document;
mod json;
mod markdown;
mod plot;
mod short;

use lock_tests::figures::Spread;

pub(crate) use document::About;

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
    pub(crate) fn is_met(self, value: f64) -> Option<bool> {
        match self {
            Self::AtLeast(goal) => Some(value >= goal),
            Self::AtMost(goal) => Some(value <= goal),
            Self::Reported => None,
        }
    }

    /// The value with as many digits as it takes to be on the same side of the goal.
    fn beside(self, value: f64) -> String {
        let same = |digits: &usize| {
            let rounded = format!("{value:.digits$}").parse();
            rounded.is_ok_and(|rounded| self.is_met(rounded) == self.is_met(value))
        };
        if value.is_infinite() {
            return figure(value);
        }
        let digits = (digits(value)..MOST_DIGITS).find(same).unwrap_or(MOST_DIGITS);
        with_digits(value, digits)
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(goal) => write!(f, ">= {}", plain(*goal)),
            Self::AtMost(goal) => write!(f, "<= {}", plain(*goal)),
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

/// The value with three significant digits or more.
pub(crate) fn figure(value: f64) -> String {
    if value.is_infinite() {
        return "never".to_owned();
    }
    with_digits(value, digits(value))
}

/// The median with minimum and maximum, unless all are the same.
pub(crate) fn spread(spread: Spread) -> String {
    median_and_range(figure(spread.median), spread)
}

fn median_and_range(median: String, Spread { min, max, .. }: Spread) -> String {
    let (min, max) = (figure(min), figure(max));
    if min == max { median } else { format!("{median} ({min} to {max})") }
}

const MOST_DIGITS: usize = 12;

/// Digits after the point.
fn digits(value: f64) -> usize {
    match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    }
}

/// As it was written in the program.
fn plain(value: f64) -> String {
    grouped(&value.to_string())
}

fn with_digits(value: f64, digits: usize) -> String {
    grouped(&format!("{value:.digits$}"))
}

/// The number with commas between thousands.
fn grouped(number: &str) -> String {
    let (whole, part) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_include_their_limit() {
        assert_eq!(Goal::AtLeast(1.0).is_met(1.0), Some(true));
        assert_eq!(Goal::AtLeast(1.01).is_met(1.0), Some(false));
        assert_eq!(Goal::AtMost(1.0).is_met(1.0), Some(true));
        assert_eq!(Goal::AtMost(0.99).is_met(1.0), Some(false));
        assert_eq!(Goal::Reported.is_met(1.0), None);
    }

    #[test]
    fn figures_have_three_digits_or_more() {
        assert_eq!(figure(12_345.6), "12,346");
        assert_eq!(figure(1_234_567.0), "1,234,567");
        assert_eq!(figure(-123_456.0), "-123,456");
        assert_eq!(figure(12.34), "12.3");
        assert_eq!(figure(1.234), "1.23");
        assert_eq!(figure(0.1234), "0.123");
        assert_eq!(figure(f64::INFINITY), "never");
        let spread = spread(Spread { median: 1.0, min: 0.5, max: 20.0 });
        assert_eq!(spread, "1.00 (0.500 to 20.0)");
        assert_eq!(super::spread(Spread::of([2.0, 2.0])), "2.00");
    }

    #[test]
    fn a_missed_goal_does_not_look_met() {
        assert_eq!(Goal::AtMost(16.0).beside(16.04), "16.04");
        assert_eq!(Goal::AtMost(16.0).beside(16.0), "16.0");
        assert_eq!(Goal::AtMost(1_000.0).beside(1_000.2), "1,000.2");
        assert_eq!(Goal::AtLeast(1.0).beside(0.999_96), "0.99996");
        assert_eq!(Goal::AtMost(330_000.0).to_string(), "<= 330,000");
    }
}
