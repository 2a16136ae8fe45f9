//! Histograms of a scrape.

/// Counts of values up to bounds, as Prometheus has them. The last bound is infinite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    bounds: Vec<(f64, f64)>,
}

impl Histogram {
    /// Creates a histogram from the bounds with their cumulative counts.
    ///
    /// # Errors
    ///
    /// The reason why it is not one.
    pub fn new(mut bounds: Vec<(f64, f64)>) -> Result<Self, &'static str> {
        bounds.sort_by(|one, other| one.0.total_cmp(&other.0));
        if bounds.last().is_none_or(|last| last.0 != f64::INFINITY) {
            return Err("it has no bucket with le=\"+Inf\"");
        }
        if bounds.windows(2).any(|pair| pair[1].1 < pair[0].1) {
            return Err("a bucket has less than the bucket below it");
        }
        Ok(Self { bounds })
    }

    /// Adds another one with the same bounds; `false` if its bounds are others.
    pub fn add(&mut self, other: &Self) -> bool {
        if self.bounds.is_empty() {
            self.bounds.clone_from(&other.bounds);
            return true;
        }
        let same = self.bounds.len() == other.bounds.len()
            && self.bounds.iter().zip(&other.bounds).all(|(one, other)| one.0 == other.0);
        if same {
            self.bounds.iter_mut().zip(&other.bounds).for_each(|(one, other)| one.1 += other.1);
        }
        same
    }

    pub fn count(&self) -> f64 {
        self.bounds.last().map_or(0.0, |last| last.1)
    }

    /// Returns the finite bounds, ascending.
    pub fn finite_bounds(&self) -> impl Iterator<Item = f64> {
        self.bounds.iter().map(|(bound, _)| *bound).filter(|bound| bound.is_finite())
    }

    /// Returns the share of values at or below one of the bounds.
    pub fn share_up_to(&self, bound: f64) -> f64 {
        let below = self.bounds.iter().rev().find(|(of, _)| *of <= bound);
        below.map_or(0.0, |(_, count)| count / self.count().max(1.0))
    }

    /// Returns the value below which a share of those up to `limit` is, between two bounds on a
    /// straight line.
    pub fn quantile_up_to(&self, limit: f64, share: f64) -> Option<f64> {
        let rank = share * self.share_up_to(limit) * self.count();
        let mut below = (0.0, 0.0);
        for (bound, count) in self.bounds.iter().take_while(|(bound, _)| *bound <= limit) {
            if *count >= rank && *count > below.1 {
                return Some(below.0 + (bound - below.0) * (rank - below.1) / (count - below.1));
            }
            below = (*bound, *count);
        }
        None
    }

    /// Returns the mean of the values up to `limit`, each in the middle of its bucket; those of the
    /// first bucket, in which the requests are that did not wait, count as 0.
    pub fn mean_up_to(&self, limit: f64) -> Option<f64> {
        let (mut sum, mut below) = (0.0, None);
        for (bound, count) in self.bounds.iter().take_while(|(bound, _)| *bound <= limit) {
            if let Some((lower, fewer)) = below {
                sum += (bound + lower) / 2.0 * (count - fewer);
            }
            below = Some((*bound, *count));
        }
        below.filter(|(_, count)| *count > 0.0).map(|(_, count)| sum / count)
    }
}
