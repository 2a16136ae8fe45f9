//! The settings of the quickstart, and its answers to wrong ones.

use lock_tests::{LIMIT, Process, free_port};

use crate::end_to_end::shop::quickstart;

/// Its last line, and how it ended.
async fn ended(process: Process) -> (String, Option<i32>) {
    let status = process.exited(LIMIT).await;
    let output = process.output();
    (output.lines().last().unwrap_or_default().to_owned(), status.code())
}

#[tokio::test]
async fn once_shows_the_point_and_stops() {
    let process = quickstart(&[], &["--once"]).await;
    let status = process.exited(LIMIT).await;
    let output = process.output();
    assert!(status.success(), "{output}");
    let sold = |line: &str| -> u32 {
        let line = output.lines().find(|said| said.contains(line)).expect(line);
        let (number, _) = line.split_once(" sold").expect("how many were sold");
        number.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(output.contains("100 buyers at once for 50 apples"), "{output}");
    assert_eq!(sold("with the lock"), 50);
    assert!(output.contains("exactly as many as there were"), "{output}");
    let oversold = format!("oversold by {}", sold("without a lock") - 50);
    assert!(output.contains(&oversold), "{output}");
    assert!(!output.contains("listening"), "{output}");
}

#[tokio::test]
async fn a_wrong_setting_is_reported_in_one_line() {
    for (variable, value, reason) in [
        ("PORT", "70000", "PORT=70000 is not a port from 0 to 65535"),
        ("PORT", "", "PORT= is not a port"),
        ("STOCK", "many", "STOCK=many is not a number of units"),
        ("STOCK", "-1", "STOCK=-1 is not a number of units"),
        ("DATA_DIR", "/dev/null/shop", "DATA_DIR=/dev/null/shop is not a directory"),
        ("REDIS_URL", "localhost", "REDIS_URL: the URL cannot be used"),
        ("LOCK_URL", "localhost", "LOCK_URL: the URL cannot be used"),
        ("LOCK_URL", "zookeeper://", "LOCK_URL: the URL cannot be used: it names no host"),
    ] {
        let (said, code) = ended(quickstart(&[(variable, value)], &[]).await).await;
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}

#[tokio::test]
async fn two_stores_are_refused_without_showing_a_password() {
    let both = [("LOCK_URL", "redis://:s3cret@here"), ("REDIS_URL", "redis://:s3cret@there")];
    let (said, code) = ended(quickstart(&both, &[]).await).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("LOCK_URL and REDIS_URL name two stores"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}

#[tokio::test]
async fn an_unknown_argument_is_refused_with_the_legal_ones() {
    let (said, code) = ended(quickstart(&[], &["--help"]).await).await;
    assert_eq!((said.as_str(), code), ("quickstart: usage: quickstart [--once]", Some(2)));
}

#[tokio::test]
async fn a_redis_that_is_not_there_is_named() {
    let address = format!("127.0.0.1:{}", free_port());
    let url = format!("redis://{address}");
    let (said, code) = ended(quickstart(&[("PORT", "0"), ("REDIS_URL", &url)], &[]).await).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("no Redis answers at {address}")), "{said}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (said, code) = ended(quickstart(&[("PORT", &port)], &[]).await).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{said}");
}
