//! Small plots of the last minutes.

use maud::{Markup, html};

/// One bar per period, oldest first.
pub(crate) fn bars(name: &str, counts: &[u32]) -> Markup {
    let most = counts.iter().copied().max().unwrap_or_default().max(1);
    let total: u64 = counts.iter().copied().map(u64::from).sum();
    html! {
        figure {
            figcaption { (total) " " (name) }
            svg viewBox={ "0 0 " (counts.len()) " 10" } preserveAspectRatio="none" role="img"
                aria-label={ (total) " " (name) ", at most " (most) " in one period" } {
                @for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    @let height = f64::from(*count) / f64::from(most) * 10.0;
                    rect x=(place) y=(10.0 - height) width="0.8" height=(height) {}
                }
            }
        }
    }
}
