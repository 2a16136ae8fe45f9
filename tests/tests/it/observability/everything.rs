//! A service that meets with everything, and what it shows of that.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use lock_tests::{LIMIT, eventually};

use crate::observability::{
    documented,
    observed_service::{LOCKS, ObservedService},
    scrape::Scrape,
};

/// A part of keys, which only the store may see.
const SECRET: &str = "jane-roe";

const REQUESTS: &str = "lock_requests_total";

fn put() -> Method {
    Method::PUT
}

impl ObservedService {
    async fn post(&self, path: &str) -> u16 {
        self.ask(Method::POST, path).await.status
    }

    /// Wait for their turns, or do not get it; meanwhile the first is renewed.
    async fn contend(&self) {
        // Well within the time in which a hold may be handed over, a third of the lease.
        let path = "/orders/7?ms=100";
        let ask = || self.ask(put(), path);
        let (one, other, third) = tokio::join!(ask(), ask(), ask());
        assert_eq!((one.status, other.status, third.status), (200, 200, 200));
        let path = "/orders/8?ms=2000";
        let (one, other) = tokio::join!(self.ask(put(), path), self.ask(put(), path));
        assert_eq!(BTreeSet::from([one.status, other.status]), BTreeSet::from([200, 423]));
    }

    async fn lose(&self) {
        let cli = self.redis.cli().await;
        let deleted = eventually("a lock to delete", LIMIT, async || cli.del("lock:order:9").await);
        let (reply, ()) = tokio::join!(self.ask(put(), "/orders/9?ms=20000"), deleted);
        assert_eq!(reply.status, 503, "{}", reply.text());
    }

    async fn overload(&self) {
        let path = format!("/imports/{SECRET}?ms=1500");
        let third = async {
            self.shows("lock_waiters", &[("policy", "import")], 1.0).await;
            self.post(&path).await
        };
        let (one, other, third) = tokio::join!(self.post(&path), self.post(&path), third);
        assert_eq!([one, other, third].iter().filter(|status| **status == 503).count(), 1);
    }

    async fn try_out(&self) {
        let path = "/reports/5?ms=300";
        assert_eq!(tokio::join!(self.post(path), self.post(path)), (200, 200));
    }

    async fn without_the_store(&self) {
        self.redis.pause();
        assert_eq!(self.ask(put(), "/orders/10").await.status, 503);
        assert_eq!(self.post("/reminders/1").await, 200);
        self.redis.resume();
    }

    async fn reload(&self) {
        std::fs::write(self.locks(), LOCKS.replace("wait = \"1s\"", "wait = \"2s\"")).unwrap();
        self.shows("lock_policy_version", &[], 2.0).await;
        std::fs::write(self.locks(), LOCKS.replace("order:", "orders:")).unwrap();
        self.shows("lock_policy_reloads_total", &[("result", "refused")], 1.0).await;
    }
}

/// Every label with its values, by the series' metric.
fn labels(scrape: &Scrape) -> BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> {
    let mut metrics: BTreeMap<_, BTreeMap<_, BTreeSet<_>>> = BTreeMap::new();
    for sample in &scrape.samples {
        let labels = metrics.entry(documented::metric_of(&sample.series)).or_default();
        for (label, value) in sample.labels.iter().filter(|(label, _)| *label != "le") {
            labels.entry(label.as_str()).or_default().insert(value.as_str());
        }
    }
    metrics
}

fn assert_documented(scrape: &Scrape) {
    let emitted = labels(scrape);
    let mut documented = documented::metrics();
    // This service has no leader: `metrics::a_leader_is_1_while_it_leads` of lock-tower has one.
    assert!(documented.remove("lock_leader").is_some());
    assert_eq!(
        emitted.keys().copied().collect::<BTreeSet<_>>(),
        documented.keys().copied().collect()
    );
    for (metric, labels) in emitted {
        assert_eq!(labels.keys().copied().collect::<BTreeSet<_>>(), documented[metric], "{metric}");
        for (label, values) in labels.iter().filter(|(label, _)| !["policy", "id"].contains(*label))
        {
            assert!(values.is_subset(&documented::values(label)), "{metric} {label}: {values:?}");
        }
        let (kind, means) = documented::reported(metric);
        assert!(scrape.text.contains(&format!("# TYPE {metric} {kind}\n")), "{metric}");
        assert!(scrape.text.contains(&format!("# HELP {metric} {means}\n")), "{metric}");
    }
    let policies: BTreeSet<_> =
        scrape.samples.iter().filter_map(|of| of.labels.get("policy")).collect();
    assert_eq!(
        policies,
        ["import", "order", "reminder", "report"].map(str::to_owned).iter().collect()
    );
}

#[tokio::test]
async fn every_metric_appears_as_it_is_documented_and_no_key_does() {
    let service = ObservedService::start().await;
    let first = service.scrape().await;
    assert_eq!(first.value("lock_lost_total", &[("policy", "order")]), Some(0.0));
    assert_eq!(first.value(REQUESTS, &[("outcome", "lock-unavailable")]), Some(0.0));

    for tenant in 0..200 {
        assert_eq!(service.post(&format!("/imports/{SECRET}-{tenant}?ms=0")).await, 200);
    }
    service.contend().await;
    service.lose().await;
    service.overload().await;
    service.try_out().await;
    service.without_the_store().await;
    service.reload().await;

    let scrape = service.scrape().await;
    assert_documented(&scrape);
    let order = |outcome| scrape.value(REQUESTS, &[("policy", "order"), ("outcome", outcome)]);
    assert_eq!(order("lock-busy"), Some(1.0));
    assert_eq!(order("lock-unavailable"), Some(1.0));
    let of = |series, policy| scrape.value(series, &[("policy", policy)]);
    assert!(scrape.value(REQUESTS, &[("policy", "import"), ("outcome", "granted")]) >= Some(200.0));
    assert_eq!(scrape.value(REQUESTS, &[("outcome", "lock-overloaded")]), Some(1.0));
    assert_eq!(scrape.value(REQUESTS, &[("outcome", "open")]), Some(1.0));
    assert_eq!(scrape.value("lock_lost_total", &[("cause", "refused")]), Some(1.0));
    assert!(of("lock_handovers_total", "order") >= Some(1.0));
    assert!(of("lock_renewal_margin_seconds_count", "order") >= Some(1.0));
    assert_eq!(of("lock_shadow_overlaps_total", "report"), Some(1.0));
    assert_eq!(of("lock_waiters", "import"), Some(0.0));
    assert!(scrape.value("lock_reconnects_total", &[]) >= Some(1.0), "Redis hung");
    assert_eq!(scrape.value("lock_policy_info", &[]), Some(1.0), "one of two is in force");

    let log = service.process.output();
    assert!(log.contains("lock.hold{policy=\"order\" route=\"/orders/{id}\""), "{log}");
    assert!(log.contains("end=\"lost\""), "{log}");
    assert!(!log.contains(SECRET) && !scrape.text.contains(SECRET), "{log}");
}
