//! The alert rules for Prometheus.

use crate::observability::promql;

const RULES: &str = include_str!("../../../../examples/observed/alerts.yml");

#[derive(Debug, Default)]
struct Alert {
    name: &'static str,
    query: String,
    summary: String,
    description: String,
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The block of more deeply indented lines below `line`, in one.
fn block(lines: &[&str], line: usize) -> String {
    let below = lines[line + 1..].iter();
    let below = below.take_while(|text| depth(text) > depth(lines[line]));
    below.map(|text| text.trim()).collect::<Vec<_>>().join(" ")
}

/// As the file is laid out; that it is YAML of this layout is checked beside.
fn alerts() -> Vec<Alert> {
    let lines: Vec<_> = RULES.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut alerts: Vec<Alert> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let Some((field, value)) = line.trim().split_once(": ") else { continue };
        if field == "- alert" {
            alerts.push(Alert { name: value, ..Alert::default() });
        }
        let Some(alert) = alerts.last_mut() else { continue };
        match (field, value) {
            ("expr", "|") => alert.query = block(&lines, number),
            ("summary", text) => alert.summary = text.trim_matches('"').to_owned(),
            ("description", ">-") => alert.description = block(&lines, number),
            _ => {}
        }
    }
    alerts
}

#[test]
fn every_rule_speaks_of_what_the_code_emits() {
    let alerts = alerts();
    assert_eq!(alerts.len(), RULES.matches("alert:").count());
    for alert in alerts {
        promql::check(&alert.query);
        for text in [&alert.summary, &alert.description] {
            for label in text.split("$labels.").skip(1).filter_map(|rest| rest.split(' ').next()) {
                let kept = alert.query.contains(&format!("{label},"))
                    || alert.query.contains(&format!("{label})"));
                assert!(kept, "{} has no label {label}", alert.name);
            }
        }
    }
}

/// An operator on call reads what to check and what to do.
#[test]
fn every_rule_has_an_instruction() {
    for alert in alerts() {
        assert!(alert.description.len() > 200, "{alert:?}");
        assert!(alert.description.contains("ook "), "{alert:?}");
    }
    for name in ["LocksLost", "LockBusyRatioHigh", "LockWaitersGrowing", "LockOverloaded"] {
        let alert = alerts().into_iter().find(|alert| alert.name == name).unwrap();
        assert!(alert.description.contains("lockctl inspect KEY"), "{alert:?}");
    }
}

/// An operator's own forced release wakes no engineer.
#[test]
fn no_rule_counts_locks_that_an_operator_took_away() {
    let counts = alerts().into_iter().filter(|alert| alert.query.contains("lock_lost_total"));
    let counts: Vec<_> = counts.collect();
    assert!(!counts.is_empty());
    for alert in counts {
        assert!(
            alert.query.contains(r#"lock_lost_total{cause!="taken",cause!="replaced"}"#),
            "{alert:?}"
        );
    }
}

#[test]
fn the_page_for_those_on_call_names_every_rule() {
    let page = include_str!("../../../../docs/operating.md");
    for alert in alerts() {
        assert!(page.contains(&format!("`{}`", alert.name)), "{}", alert.name);
    }
}

/// Lists are two deeper than their key, and nothing is indented by tabs or by odd numbers.
#[test]
fn it_is_laid_out_as_it_is_read() {
    for line in RULES.lines().filter(|line| !line.trim().is_empty()) {
        assert!(!line.contains('\t') && depth(line).is_multiple_of(2), "{line}");
    }
}
