//! The example `nightly_job`: three processes on one Redis, whose clocks are a second apart.

use axum::http::Method;
use lock_tests::{LIMIT, Process, RedisServer, http, workspace_binary};

use crate::observability::scrape::Scrape;

/// What one replica has printed, and its metrics.
async fn done(replica: &Process) -> (String, Scrape) {
    let line = replica.line("serving on ", LIMIT).await;
    let url = line.rsplit(' ').next().unwrap();
    let reply = http::request(Method::GET, &format!("{url}/metrics"), "").await.unwrap();
    assert_eq!(reply.status, 200);
    (replica.output(), Scrape::parse(reply.text()))
}

#[tokio::test]
async fn of_three_replicas_one_runs_and_the_metrics_show_it() {
    let server = RedisServer::start().await;
    let program = workspace_binary("nightly_job").await;
    let replicas = [0, 1_000, 2_000].map(|late: u32| {
        let replica = Process::builder(&program).env("REDIS_URL", server.url());
        replica.env("LATE_MS", late.to_string()).env("PORT", "0").start()
    });
    let (mut output, mut granted, mut not_run) = (String::new(), 0.0, 0.0);
    for replica in &replicas {
        let (printed, scrape) = done(replica).await;
        output += &printed;
        let of = |outcome| {
            let labels = [("policy", "nightly-report"), ("outcome", outcome)];
            scrape.value("lock_requests_total", &labels).unwrap()
        };
        (granted, not_run) = (granted + of("granted"), not_run + of("lock-skipped"));
    }
    // The first is done long before the others begin, and leaves the lock held.
    let (ran, skipped) = (output.matches(": ran").count(), output.matches(": skipped").count());
    assert_eq!((ran, skipped), (1, 2), "{output}");
    assert_eq!((granted, not_run), (1.0, 2.0));
}
