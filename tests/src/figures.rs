//! Statistics of repeated measurements, without a clock.

/// The median of several values, with minimum and maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// For an even number of values, the mean of the two in the middle.
    pub median: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// Computes the spread of at least one value.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (Some(min), Some(max)) = (values.first(), values.last()) else {
            panic!("a spread of no values");
        };
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            0 => f64::midpoint(values[middle - 1], values[middle]),
            _ => values[middle],
        };
        Self { median, min: *min, max: *max }
    }

    /// Computes the spread of ratios of values measured in pairs.
    pub fn of_ratios(values: &[f64], partners: &[f64]) -> Self {
        assert_eq!(values.len(), partners.len(), "a value without its partner");
        Self::of(values.iter().zip(partners).map(|(value, partner)| value / partner))
    }
}

/// Returns the least value that this percentage of all values does not exceed; zero for no values.
#[must_use]
pub fn percentile(values: &[u64], percent: u32) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    let rank = (values.len() * percent as usize).div_ceil(100);
    values.get(rank.max(1) - 1).copied().unwrap_or(0)
}

/// Returns how evenly turns were shared, by Jain's index: 1 if all had as many, 1/n if one had all.
#[must_use]
pub fn jain(turns: &[u64]) -> f64 {
    let sum: f64 = turns.iter().map(|turns| *turns as f64).sum();
    let squares: f64 = turns.iter().map(|turns| (*turns as f64).powi(2)).sum();
    if squares == 0.0 {
        return 1.0;
    }
    sum * sum / (turns.len() as f64 * squares)
}
