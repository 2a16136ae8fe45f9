//! Small plots of the last quarter of an hour.

use std::collections::VecDeque;

use maud::{Markup, html};
use tokio::{sync::Mutex, time::Instant};

/// How many locks this process held when the page was read, by period.
#[derive(Debug, Default)]
pub(crate) struct HoldSamples {
    /// The begin of each period that has one, and the most in it.
    samples: Mutex<VecDeque<(Instant, u32)>>,
}

impl HoldSamples {
    /// Adds `holds`, and returns the most of each period, oldest first. Nothing is known of periods in
    /// which no page was open.
    pub(crate) async fn add(
        &self,
        holds: usize,
        period: std::time::Duration,
        periods: usize,
    ) -> Vec<u32> {
        let holds = u32::try_from(holds).unwrap_or(u32::MAX);
        let mut samples = self.samples.lock().await;
        match samples.back_mut() {
            Some((since, most)) if since.elapsed() < period => *most = holds.max(*most),
            _ => samples.push_back((Instant::now(), holds)),
        }
        let mut counts = vec![0; periods];
        samples.retain(|(since, most)| {
            let ago = since.elapsed().as_millis() / period.as_millis().max(1);
            let count = usize::try_from(ago).ok().and_then(|ago| counts.iter_mut().rev().nth(ago));
            count.map(|count| *count = *most).is_some()
        });
        counts
    }
}

/// A number with its name, and one bar per period, oldest first.
pub(crate) fn tile(id: &str, number: u64, name: &str, counts: &[u32], empty: &str) -> Markup {
    let most = counts.iter().copied().max().unwrap_or_default();
    html! {
        figure id=(id) {
            figcaption { strong { (number) } " " (name) }
            @if most == 0 {
                p .empty { (empty) }
            } @else {
                svg viewBox={ "0 0 " (counts.len()) " 10" } preserveAspectRatio="none" role="img"
                    aria-label={ (name) ": at most " (most) " in one period" } {
                    @for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                        @let height = f64::from(*count) / f64::from(most) * 10.0;
                        rect x=(place) y=(10.0 - height) width="0.8" height=(height) {}
                    }
                }
            }
        }
    }
}
