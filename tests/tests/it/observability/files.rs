//! What is written down of metrics, beside the dashboard and the alerts.

use std::collections::BTreeSet;

use crate::observability::documented;

#[test]
fn the_on_call_page_covers_exactly_the_existing_metrics() {
    let page = include_str!("../../../../docs/operating.md");
    let words = page.split('`').skip(1).step_by(2);
    let words = words.filter(|word| word.starts_with("lock_") && !word.contains("::"));
    let named = words.map(|word| {
        let name = word.split(['{', ' ']).next().unwrap();
        documented::metric_of(name)
    });
    assert_eq!(named.collect::<BTreeSet<_>>(), documented::metrics().into_keys().collect());
}
