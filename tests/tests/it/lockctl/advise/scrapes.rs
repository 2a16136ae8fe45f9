//! Advice from scrapes of a service that enforces its locks.

use std::time::Duration;

use lock_tower::LockClient;
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::json;

use crate::lockctl::advise::{
    recorded::{Case, SHADOW, assert_right, figures},
    workload::{Measured, Shape, in_virtual_time, play, workload},
};

/// Writers of one order each, all requested alike: what the formula is made for.
const EVEN: Shape = Shape {
    seed: 5,
    requests: 6_000,
    per_second: 10.0,
    orders: 1,
    work: Duration::from_millis(40),
    reads: 0.0,
};

const BUCKETS: [f64; 12] = [0.0001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.5, 1.0, 2.0, 5.0];

async fn play_and_scrape(case: &Case) -> (Measured, String) {
    let file = case.path("locks.toml");
    in_virtual_time(async move || {
        let recorder = PrometheusBuilder::new().set_buckets(&BUCKETS).unwrap().build_recorder();
        let _recording = metrics::set_default_local_recorder(&recorder);
        let locks = [LockClient::in_memory()];
        let measured = play(&locks, &file, &workload(EVEN)).await;
        (measured, recorder.handle().render())
    })
    .await
}

fn enforced(wait: &str) -> String {
    SHADOW.replace("20ms", wait).replace("\"shadow\"", "\"on\"")
}

#[tokio::test]
async fn a_shorter_wait_comes_as_expected() {
    let case = Case::new(&enforced("2s"));
    let (_, scrape) = play_and_scrape(&case).await;
    case.write("scrape.txt", &scrape);
    let run = case.advise(&["scrape.txt"], &["--refused", "5"]).await;
    eprintln!("{}", run.err);
    let json = case.advise(&["scrape.txt"], &["--refused", "5", "--json"]).await.json();
    case.patch(json["diff"].as_str().unwrap());

    let (measured, _) = play_and_scrape(&case).await;
    let expected = figures(&json, "proposed", "wait");
    assert_right("refused", &expected["refused"], measured.refused_share(), 0.0);
    assert_right("mean wait", &expected["wait_mean_seconds"], measured.wait_mean(), 0.0);
    assert_right("95 % wait", &expected["wait_p95_seconds"], measured.wait_p95(), 0.0);
}

/// Waits end at the present one, so that a scrape shows no longer ones.
#[tokio::test]
async fn a_longer_wait_is_not_guessed() {
    let case = Case::new(&enforced("10ms"));
    let (measured, scrape) = play_and_scrape(&case).await;
    case.write("scrape.txt", &scrape);
    let run = case.advise(&["scrape.txt"], &[]).await;
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{run:?}");
    assert!(run.err.contains("record a shadow log"), "{run:?}");
    let json = case.advise(&["scrape.txt"], &["--json", "--seconds", "600"]).await.json();
    let present = figures(&json, "present", "wait");
    assert_right("refused", &present["refused"], measured.refused_share(), 0.0);
    assert!(present["commands_per_second"].as_f64().unwrap() > 5.0, "{present}");
}

#[tokio::test]
async fn of_two_scrapes_the_difference_counts() {
    let case = Case::new(&enforced("2s"));
    let (_, scrape) = play_and_scrape(&case).await;
    case.write("earlier.txt", &scrape);
    case.write("later.txt", &scrape);
    let run = case.advise(&["earlier.txt", "later.txt"], &[]).await;
    assert_eq!((run.code, run.out.as_str()), (3, ""));
    assert!(run.err.contains("the scrape has no request of this rule"), "{run:?}");
    case.write("empty.txt", "# HELP lock_requests_total Requests\n");
    let run = case.advise(&["empty.txt", "later.txt"], &["--json"]).await;
    assert_eq!(run.json()["rules"][0]["requests"], json!(EVEN.requests));
}

#[tokio::test]
async fn a_lease_is_prolonged_if_renewals_came_late() {
    let case = Case::new(&enforced("2s"));
    let (_, scrape) = play_and_scrape(&case).await;
    let margin = |low: u32| {
        let bucket = |le: &str, count: u32| {
            let labels = format!("policy=\"order\",le=\"{le}\"");
            format!("lock_renewal_margin_seconds_bucket{{{labels}}} {count}\n")
        };
        [bucket("5", low), bucket("30", 1_000), bucket("+Inf", 1_000)].concat()
    };
    for (low, proposed) in [(5, false), (50, true)] {
        case.write("scrape.txt", &format!("{scrape}\n{}", margin(low)));
        let run = case.advise(&["scrape.txt"], &[]).await;
        assert_eq!(run.out.contains("+lease = \"60s\""), proposed, "{run:?}");
    }
}
