//! What a query speaks of. No parser: the queries of the dashboard and the alerts are simple, and
//! these checks are about names.

use std::collections::BTreeSet;

use crate::observability::documented;

/// Labels that Prometheus adds.
const ADDED: [&str; 2] = ["job", "instance"];

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The series of this crate.
fn series(query: &str) -> BTreeSet<&str> {
    query.split(|character| !is_name(character)).filter(|word| word.starts_with("lock_")).collect()
}

/// The metrics that a query reads.
pub(crate) fn metrics(query: &str) -> BTreeSet<&str> {
    series(query).into_iter().map(documented::metric_of).collect()
}

/// `label` and the values of each `label="one"` or `label=~"one|other"`.
fn matchers(query: &str) -> Vec<(&str, Vec<&str>)> {
    let selectors = query.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    let matchers = selectors.flat_map(|(selector, _)| selector.split("\",")).map(|matcher| {
        let (label, value) = matcher.split_once('=').unwrap_or_else(|| panic!("{query}"));
        (label.trim().trim_end_matches('!'), value.trim_matches(['~', '"']).split('|').collect())
    });
    matchers.collect()
}

/// The labels in `by (...)` and the like.
fn grouped(query: &str) -> impl Iterator<Item = &str> {
    let lists = ["by (", "ignoring (", "on (", "without ("];
    let lists = lists.into_iter().flat_map(move |begin| query.split(begin).skip(1));
    lists.filter_map(|rest| rest.split_once(')')).flat_map(|(list, _)| list.split(", "))
}

/// Fails unless the query could find something in what the code emits.
pub(crate) fn check(query: &str) {
    let count = |character| query.matches(character).count();
    assert_eq!(count('('), count(')'), "{query}");
    assert_eq!((count('{'), count('[')), (count('}'), count(']')), "{query}");
    assert_eq!(count('"') % 2, 0, "{query}");
    let documented = documented::metrics();
    let mut labels = BTreeSet::from(ADDED);
    assert!(!series(query).is_empty(), "{query}");
    for series in series(query) {
        let metric = documented::metric_of(series);
        let known = documented.get(metric);
        labels.extend(known.unwrap_or_else(|| panic!("nothing emits {series}: {query}")));
        let is_histogram = documented::reported(metric).0 == "histogram";
        // A histogram has no series of its own name, and nothing else has parts.
        assert_eq!(series != metric, is_histogram, "{series}: {query}");
        labels.extend(series.ends_with("_bucket").then_some("le"));
    }
    for label in grouped(query) {
        assert!(labels.contains(label), "no label {label}: {query}");
    }
    for (label, values) in matchers(query) {
        assert!(labels.contains(label), "no label {label}: {query}");
        let chosen_by_hand = |value: &&str| !value.starts_with('$') && !value.contains(".*");
        for value in values.into_iter().filter(chosen_by_hand) {
            assert!(documented::values(label).contains(value), "no {label} {value}: {query}");
        }
    }
}

#[test]
fn a_query_is_taken_apart() {
    let query = r#"sum by (job, le) (rate(lock_wait_seconds_bucket{mode="read",job=~"$job"}[5m]))"#;
    check(query);
    assert_eq!(metrics(query), BTreeSet::from(["lock_wait_seconds"]));
    assert_eq!(matchers(query), [("mode", vec!["read"]), ("job", vec!["$job"])]);
    for wrong in [
        "sum(rate(lock_wait_seconds_bucket[5m])",
        "lock_waits",
        "lock_wait_seconds",
        "lock_waiters_sum",
        r#"lock_requests_total{outcome=~"lock-busy|busy"}"#,
        r#"lock_waiters{mode="read"}"#,
        "sum by (le) (lock_waiters)",
        "up == 0",
    ] {
        let checked = std::panic::catch_unwind(|| check(wrong));
        assert!(checked.is_err(), "{wrong}");
    }
}
