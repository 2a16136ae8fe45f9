//! The table in the docs of `Outcome`, row by row: each response on the wire is that of its row.

use std::collections::{BTreeMap, BTreeSet};

use lock_tests::http::Reply;
use lock_tower::Outcome;
use serde_json::{Value, json};

use crate::end_to_end::outcome_scene::Scene;

const SOURCE: &str = include_str!("../../../../lock-policy/src/settings/outcome.rs");

/// One row, as the docs have it.
#[derive(Debug)]
struct Row {
    status: u16,
    problem: String,
    headers: BTreeSet<String>,
    executed: Value,
}

/// The rows by the names of their outcomes.
fn rows() -> BTreeMap<&'static str, Row> {
    let rows = SOURCE.lines().filter_map(|line| line.strip_prefix("/// | [`"));
    rows.map(|row| {
        let (name, cells) = row.split_once('`').unwrap();
        let cells: Vec<_> = cells.split('|').map(|cell| cell.trim().replace('`', "")).collect();
        let headers = cells[3].split(", ").filter(|header| !header.is_empty());
        let row = Row {
            status: cells[1].parse().unwrap(),
            problem: cells[2].clone(),
            headers: headers.map(str::to_ascii_lowercase).collect(),
            executed: serde_json::from_str(&cells[4]).unwrap(),
        };
        (name, row)
    })
    .collect()
}

fn variants() -> BTreeSet<&'static str> {
    let body = SOURCE.split_once("pub enum Outcome {").unwrap().1;
    let lines = body.split_once("\n}").unwrap().0.lines().map(str::trim);
    let names = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    names.map(|line| line.trim_end_matches(',')).collect()
}

/// Which one it is, out of the answer of the library alone.
fn outcome(name: &str) -> Outcome {
    let all = [
        Outcome::Busy,
        Outcome::Skipped,
        Outcome::Deadlock,
        Outcome::Replaced,
        Outcome::Overloaded,
        Outcome::OverLimit,
        Outcome::Unavailable,
        Outcome::Draining,
        Outcome::Lost,
        Outcome::KeyMissing,
        Outcome::KeyInvalid,
        Outcome::DeadlineInvalid,
        Outcome::BodyTooLarge,
        Outcome::BodyTimeout,
        Outcome::Misconfigured,
    ];
    all.into_iter().find(|outcome| format!("{outcome:?}") == name).unwrap()
}

#[test]
fn the_table_has_a_row_for_each_outcome() {
    assert_eq!(rows().into_keys().collect::<BTreeSet<_>>(), variants());
}

#[tokio::test]
async fn each_row_is_what_a_client_gets() {
    for (name, row) in rows() {
        for scene in Scene::of(name).await {
            let (reply, calls) = scene.play(|lock| lock).await;
            assert_row(name, &row, &reply);
            assert_eq!(calls, usize::from(row.executed != json!(false)), "{name}: calls");
        }
    }
}

fn assert_row(name: &str, row: &Row, reply: &Reply) {
    let problem = reply.json();
    assert_eq!(reply.status, row.status, "{name}: {problem}");
    assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{name}");
    assert_eq!(reply.header("x-outcome"), Some(&*row.problem), "{name}");

    // No header but these, and what every answer has.
    let ours = |header: &String| {
        !["content-type", "content-length", "date", "x-outcome"].contains(&header.as_str())
    };
    let headers = reply.headers.iter().map(|(header, value)| match header.as_str() {
        "connection" => format!("connection: {}", value.to_str().unwrap()),
        header => header.to_owned(),
    });
    assert_eq!(headers.filter(ours).collect::<BTreeSet<_>>(), row.headers, "{name}");

    let mut members = vec!["type", "title", "status", "detail", "executed"];
    members.extend(["lock", "kind", "mode", "request_id"]);
    if let Some(seconds) = reply.header("retry-after") {
        members.push("retry_after_ms");
        let ms = problem["retry_after_ms"].as_u64().unwrap();
        assert!((1..=2_000).contains(&ms), "{name}: {ms}");
        assert_eq!(seconds.parse::<u64>().unwrap(), ms.div_ceil(1_000), "{name}");
    }
    let known: BTreeSet<_> = problem.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(known, members.into_iter().collect(), "{name}");
    let expected = [
        ("type", json!(format!("urn:lock-tower:problem:{}", row.problem))),
        ("status", json!(row.status)),
        ("executed", row.executed.clone()),
        ("lock", json!("order")),
        ("kind", json!("read_write")),
        ("mode", json!("write")),
        ("request_id", json!("r-1")),
    ];
    for (member, value) in expected {
        assert_eq!(problem[member], value, "{name}: {member}");
    }
    let detail = problem["detail"].as_str().unwrap();
    let nothing_done = row.executed == json!(false);
    assert_eq!(detail.contains("Nothing was done"), nothing_done, "{name}: {detail}");
    assert!(!problem["title"].as_str().unwrap().is_empty() && !reply.text().contains("order:7"));
}

#[tokio::test]
async fn each_row_can_be_answered_by_a_function() {
    for (name, row) in rows() {
        for scene in Scene::of(name).await {
            let path = scene.path;
            let (reply, _) = scene
                .play(|lock| {
                    lock.answer(outcome(name), async |refused| {
                        let path = refused.request().map(|request| request.uri.path().to_owned());
                        let reported =
                            format!("{:?} {:?} {path:?}", refused.outcome(), refused.policy());
                        let mut response = refused.problem();
                        response.headers_mut().remove("content-type");
                        response.map(|_| reported.into())
                    })
                })
                .await;
            assert_eq!(reply.status, row.status, "{name}");
            assert_eq!(reply.header("x-outcome"), Some(&*row.problem), "{name}");
            let reported = format!("{name} {:?} {:?}", Some("order"), Some(path));
            assert_eq!(reply.text(), reported, "{name}");
        }
    }
}
