//! Growing pauses between attempts, at random up to a half shorter: clients that failed at the same
//! moment must not all try again at the same moment.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Backoff {
    next: Duration,
}

impl Backoff {
    pub fn new(first: Duration) -> Self {
        Self { next: first }
    }

    /// The next pause, twice as long as the one before, at most `max`.
    pub fn next(&mut self, max: Duration) -> Duration {
        let pause = self.next.min(max);
        self.next = pause * 2;
        jittered(pause)
    }
}

/// At random from half of it up to all of it.
pub fn jittered(span: Duration) -> Duration {
    let mut byte = [0_u8];
    let _ = getrandom::fill(&mut byte);
    span.mul_f64(0.5 + f64::from(byte[0]) / 510.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jittered_span_is_between_half_of_it_and_all_of_it() {
        let span = Duration::from_millis(200);
        let spans: Vec<_> = (0..1_000).map(|_| jittered(span)).collect();
        assert!(spans.iter().all(|one| (span / 2..=span).contains(one)), "{spans:?}");
        let (least, most) = (spans.iter().min(), spans.iter().max());
        assert!(least < Some(&(span * 5 / 8)) && most > Some(&(span * 7 / 8)), "{spans:?}");
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(20));
        for longest in [20, 40, 80, 100, 100] {
            let pause = backoff.next(ms(100));
            assert!((ms(longest) / 2..=ms(longest)).contains(&pause), "{pause:?} of {longest}");
        }
    }
}
