//! Files that are not what they should be.

use serde_json::json;

use crate::lockctl::advise::recorded::{Case, SHADOW};

const LINE: &str = "2026-01-01T00:00:00Z DEBUG lock_tower::shadow: a request in shadow mode \
                    policy=\"order\" kind=\"read_write\" mode=\"write\" keys=\"a\" hashed_by=\"h\" \
                    client=\"c\" arrived_us=1000 held_us=10\n";

/// A whole histogram of one policy, and its requests.
fn scrape(count: u32) -> String {
    let labels = "policy=\"order\",mode=\"write\"";
    format!(
        "lock_requests_total{{{labels},outcome=\"granted\"}} {count}\n\
         lock_wait_seconds_bucket{{{labels},le=\"0.1\"}} {count}\n\
         lock_wait_seconds_bucket{{{labels},le=\"+Inf\"}} {count}\n"
    )
}

#[tokio::test]
async fn each_error_has_its_line_and_what_to_do() {
    let long = format!("{LINE}{}\n", "x".repeat(70_000));
    let without = |part: &str| LINE.to_owned() + &LINE.replace(part, "");
    let whole = scrape(500);
    for (text, place, what, help) in [
        (String::new(), ":1", "without metrics or a shadow log", "`lock_tower::shadow`"),
        ("hello\n".repeat(3), ":4", "without metrics or a shadow log", "give a scrape"),
        (long, ":2", "too long", "64 KiB"),
        (without("held_us=10"), ":2", "no field `held_us`", "unchanged"),
        (LINE.replace("=1000", "=x"), ":1", "`arrived_us` is not a number", "unchanged"),
        (LINE.replace("=1000", "=99999999999999999999"), ":1", "not a number", "unchanged"),
        (format!("{LINE}{}", LINE.replace("\"h\"", "\"i\"")), ":2", "otherwise", "ticket_key"),
        (
            "{\"target\":\"lock_tower::shadow\",\"arrived_us\":1".to_owned(),
            ":1",
            "JSON",
            "unchanged",
        ),
        (whole.replace("+Inf", "0.2"), ":2", "no bucket with le=\"+Inf\"", "the whole scrape"),
        (whole.replace("+Inf\"} 500", "+Inf\"} 4"), ":2", "less than the bucket below", "whole"),
        (whole.replace("le=\"0.1\"", "quantile=\"0.5\""), ":2", "summary", "buckets"),
        (whole.replace("le=\"0.1\"", "of=\"0.1\""), ":2", "no bound `le`", "whole"),
        (format!("{whole}{whole}"), ":4", "was there before", "EARLIER"),
        (format!("{whole}lock_x{{a=\"1}} 2\n"), ":4", "not a line of a scrape", "unchanged"),
        (format!("{whole}lock_x NaN\n"), ":4", "not a number", "unchanged"),
    ] {
        let case = Case::new(SHADOW);
        let file = case.write("metrics", &text);
        let run = case.advise(&["metrics"], &[]).await;
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{what}: {run:?}");
        assert!(run.err.starts_with(&format!("{file}{place}: error: ")), "{what}: {run:?}");
        assert!(run.err.contains(what) && run.err.contains(help), "{what}: {run:?}");
        let error = &case.advise(&["metrics"], &["--json"]).await.json()["error"];
        assert_eq!((&error["kind"], &error["exit"]), (&json!("file"), &json!(1)));
        assert_eq!(format!(":{}", error["errors"][0]["line"]), place);
    }
}

#[tokio::test]
async fn bytes_that_are_not_text_and_a_missing_file_are_errors() {
    let case = Case::new(SHADOW);
    std::fs::write(case.path("metrics"), b"lock_x 1\n\xff\n").unwrap();
    let run = case.advise(&["metrics"], &[]).await;
    assert!(
        run.code == 1 && run.err.contains("metrics:2: error: the line is not UTF-8"),
        "{run:?}"
    );
    let run = case.advise(&["none"], &[]).await;
    assert!(run.code == 1 && run.err.contains("none: error: the file cannot be read"), "{run:?}");
    case.write("locks.toml", "version = 2");
    let run = case.advise(&["metrics"], &[]).await;
    assert!(run.code == 1 && run.err.contains("locks.toml:1:"), "{run:?}");
}

#[tokio::test]
async fn a_counter_that_went_back_is_a_restart() {
    let case = Case::new(SHADOW);
    case.write("earlier", &scrape(500));
    let later = case.write("later", &scrape(400));
    let run = case.advise(&["earlier", "later"], &[]).await;
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.starts_with(&format!("{later}:1: error: a counter went back")), "{run:?}");
    case.write("log", LINE);
    for metrics in [&["earlier", "log"][..], &["earlier", "earlier", "earlier"]] {
        let run = case.advise(metrics, &[]).await;
        assert!(run.code == 2 && run.err.contains("give one kind"), "{run:?}");
    }
}

#[tokio::test]
async fn too_few_observations_give_no_advice() {
    let case = Case::new(SHADOW);
    case.write("log", &LINE.repeat(299));
    let run = case.advise(&["log"], &[]).await;
    assert_eq!((run.code, run.out.as_str()), (3, ""), "{run:?}");
    assert!(run.err.contains("too few observations: 299 requests"), "{run:?}");
    case.write("log", &LINE.repeat(300));
    assert_eq!(case.advise(&["log"], &[]).await.code, 0);
}

/// Other lines of the service's log are passed over, and its other layers are named.
#[tokio::test]
async fn json_and_text_are_read_alike() {
    let case = Case::new(SHADOW);
    let json = r#"{"timestamp":"t","level":"DEBUG","fields":{"message":"m","policy":"order",
        "kind":"read_write","mode":"write","keys":"a","hashed_by":"h","client":"c",
        "arrived_us":1000,"held_us":10},"target":"lock_tower::shadow"}"#;
    let json = format!("{}\n", json.replace("\n        ", ""));
    let coloured = LINE.replace("policy=", "\u{1b}[3mpolicy\u{1b}[0m\u{1b}[2m=\u{1b}[0m");
    let other = "2026-01-01T00:00:00Z INFO shop: an order was changed\n";
    let layer = LINE.replace("\"order\"", "\"cart\"");
    case.write(
        "log",
        &[json.repeat(100), coloured.repeat(100), other.repeat(9), LINE.repeat(100), layer]
            .concat(),
    );
    let run = case.advise(&["log"], &["--json"]).await;
    let json = run.json();
    assert_eq!((run.code, &json["rules"][0]["requests"]), (0, &json!(300)));
    assert_eq!(json["without_rule"][0]["policy"], json!("cart"));
    assert_eq!(json["without_rule"][0]["line"], json!(310));
    let run = case.advise(&["log"], &[]).await;
    assert!(run.err.contains(":310: note: `cart` is not a rule of"), "{run:?}");
}
