//! The dashboard for Grafana.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::observability::{documented, promql};

fn dashboard() -> Value {
    let text = include_str!("../../../../examples/observed/dashboard.json");
    serde_json::from_str(text).unwrap()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}")).iter()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

#[test]
fn every_query_speaks_of_what_the_code_emits() {
    let dashboard = dashboard();
    for target in list(&dashboard["panels"]).flat_map(|panel| list(&panel["targets"])) {
        promql::check(text(&target["expr"]));
    }
    for annotation in list(&dashboard["annotations"]["list"]) {
        promql::check(text(&annotation["expr"]));
    }
    for variable in list(&dashboard["templating"]["list"]).skip(1) {
        let query = text(&variable["definition"]);
        let labels = &documented::metrics()["lock_requests_total"];
        let label = query.trim_end_matches(')').rsplit(", ").next().unwrap();
        assert!(label == "job" || labels.contains(label), "{query}");
        assert_eq!(promql::metrics(query), BTreeSet::from(["lock_requests_total"]));
    }
}

/// A legend with a label that the query has summed up shows nothing.
#[test]
fn every_legend_names_labels_that_its_query_keeps() {
    let dashboard = dashboard();
    for target in list(&dashboard["panels"]).flat_map(|panel| list(&panel["targets"])) {
        let (query, legend) = (text(&target["expr"]), text(&target["legendFormat"]));
        for label in legend.split("{{").skip(1).filter_map(|rest| rest.split("}}").next()) {
            let by = query.split("by (").nth(1).and_then(|rest| rest.split(')').next());
            // What is not summed up has the labels of its series.
            let kept = by.map_or(label == "instance", |by| by.split(", ").any(|by| by == label));
            assert!(kept, "{legend}: {query}");
        }
    }
}

#[test]
fn every_metric_is_on_it() {
    let dashboard = dashboard();
    let targets = list(&dashboard["panels"]).flat_map(|panel| list(&panel["targets"]));
    let shown: BTreeSet<_> =
        targets.flat_map(|target| promql::metrics(text(&target["expr"]))).collect();
    assert_eq!(shown, documented::metrics().into_keys().collect());
}

#[test]
fn panels_have_a_name_a_meaning_and_a_place_of_their_own() {
    let dashboard = dashboard();
    let mut taken = BTreeSet::new();
    for panel in list(&dashboard["panels"]) {
        assert!(!text(&panel["title"]).is_empty() && !text(&panel["description"]).is_empty());
        let place = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        let [x, y, width, height] = place;
        assert!(x + width <= 24, "{panel}");
        for cell in (x..x + width).flat_map(|x| (y..y + height).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "two panels at {cell:?}: {panel}");
        }
    }
}
