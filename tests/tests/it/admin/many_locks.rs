use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use lock_tests::{LIMIT, RedisServer, http};
use lock_tower::{LockClient, admin};
use serde_json::Value;

use crate::end_to_end::local_service::LocalService;

const LOCKS: usize = 5_000;
/// Keys of the application.
const OTHERS: usize = 20_000;

/// Longer than the test: a renewal of the locks would be counted among the commands of a page.
const LEASE: Duration = Duration::from_secs(3_600);

/// Every page has a bounded cost, and all pages together have every lock once.
#[tokio::test]
async fn five_thousand_locks_are_read_in_pages_of_bounded_cost() {
    let redis = RedisServer::start().await;
    let cli = redis.cli().await;
    let fill = format!(
        "for i = 1, {OTHERS} do redis.call('SET', 'application:' .. i, 'x') end return redis.status_reply('OK')"
    );
    let _: String = cli.query(&["EVAL", &fill, "0"]).await;
    // A busy machine keeps answers back; how long one may take is not the subject here.
    let patient = LockClient::builder().command_timeout(LIMIT);
    let locks = patient.clone().client_name("orders", "replica-1").lease(LEASE);
    let locks = locks.connect(&redis.url()).await.unwrap();
    let guards = stream::iter(0..LOCKS)
        .map(|number| locks.write(format!("order:{number}")).acquire())
        .buffer_unordered(256)
        .collect::<Vec<_>>()
        .await;
    assert!(guards.iter().all(Result::is_ok));
    let page = patient.connect(&redis.url()).await.unwrap();
    let service = LocalService::start(admin::router(page).into_unprotected_router()).await;
    let schema = http::get(&service.url("/?format=schema")).await.json();
    let schema = jsonschema::validator_for(&schema).unwrap();

    let (mut keys, mut after, mut figures) = (Vec::new(), String::new(), Vec::new());
    loop {
        cli.reset_stats().await;
        let began = Instant::now();
        let page = http::get(&service.url(&format!("/?format=json&after={after}"))).await;
        if page.status == 429 {
            // Ten in a second, so that the searches of one operator do not keep another waiting.
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        }
        let (page, took) = (page.json(), began.elapsed());
        if let Err(why) = schema.validate(&page) {
            panic!("{why} at {}", why.instance_path());
        }
        let found = page["locks"].as_array().unwrap();
        let counts = cli.command_counts().await;
        let total: u64 = counts.values().sum();
        let scans = counts.get("scan").copied().unwrap_or_default();
        figures.push((found.len(), scans, total, took));
        // For each lock a script of seven commands, and one command for what its owner works on; a few
        // for names and health.
        let bound = 50 + 9 * found.len() as u64 + 10;
        assert!(scans <= 50 && total <= bound, "{} locks: {counts:?}", found.len());
        keys.extend(found.iter().map(|row| row["key"].as_str().unwrap().to_owned()));
        match &page["next"] {
            Value::String(next) => after = next.clone(),
            _ => break,
        }
    }
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), LOCKS);
    let longest = figures.iter().map(|(_, _, _, took)| *took).max().unwrap();
    let most = figures.iter().map(|(_, _, total, _)| *total).max().unwrap();
    let pages = figures.len();
    println!(
        "{pages} pages of {LOCKS} locks: at most {most} commands, those of scripts included, and {longest:?} each"
    );

    tokio::time::sleep(Duration::from_secs(1)).await;
    let lock = http::get(&service.url("/?format=json&key=order:1")).await.json();
    assert!(schema.is_valid(&lock), "{lock}");
    assert!(!schema.is_valid(&serde_json::json!({ "locks": [] })), "the schema refuses others");
}
