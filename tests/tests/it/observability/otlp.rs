//! What the example sends to a collector of OpenTelemetry.

use std::sync::{Arc, Mutex};

use axum::{Router, body::Bytes, extract::State, http::Method, routing::post};
use lock_tests::{LIMIT, eventually};

use crate::{
    end_to_end::local_service::LocalService, observability::observed_service::ObservedService,
};

/// A collector that keeps what it receives.
#[derive(Clone, Default)]
struct Collector {
    traces: Arc<Mutex<Vec<Bytes>>>,
    metrics: Arc<Mutex<Vec<Bytes>>>,
}

type Received = Arc<Mutex<Vec<Bytes>>>;

async fn receive(State(received): State<Received>, body: Bytes) {
    received.lock().unwrap().push(body);
}

impl Collector {
    async fn start(&self) -> LocalService {
        let traces = post(receive).with_state(Arc::clone(&self.traces));
        let metrics = post(receive).with_state(Arc::clone(&self.metrics));
        let routes = Router::new().route("/v1/traces", traces).route("/v1/metrics", metrics);
        LocalService::start(routes).await
    }
}

/// Whether the messages have all these texts, which stand in them as they are. A slow machine sends the
/// end of one request's spans in a message of its own.
fn has(received: &Received, texts: &[&str]) -> bool {
    let has = |body: &Bytes, text: &str| body.windows(text.len()).any(|at| at == text.as_bytes());
    let received = received.lock().unwrap();
    texts.iter().all(|text| received.iter().any(|body| has(body, text)))
}

#[tokio::test]
async fn spans_and_metrics_reach_a_collector() {
    let collector = Collector::default();
    let address = collector.start().await;
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", address.url("")),
        ("OTEL_METRIC_EXPORT_INTERVAL", "200".to_owned()),
        ("OTEL_BSP_SCHEDULE_DELAY", "200".to_owned()),
    ];
    let service = ObservedService::start_with(&environment).await;
    assert_eq!(service.ask(Method::PUT, "/orders/81726354?ms=0").await.status, 200);

    let spans = ["lock.wait", "lock.hold", "policy", "order", "/orders/{id}", "observed"];
    let arrived = async || has(&collector.traces, &spans);
    eventually("the spans of the lock", LIMIT, arrived).await;
    // By OpenTelemetry's names, with the unit apart.
    let metrics = ["lock.requests", "lock.wait", "lock.store.command", "operation", "acquire"];
    let arrived = async || has(&collector.metrics, &metrics);
    eventually("the metrics of the lock", LIMIT, arrived).await;
    assert!(!has(&collector.metrics, &["lock_requests_total"]));
    for received in [&collector.traces, &collector.metrics] {
        assert!(!has(received, &["81726354"]), "a key or a path was sent");
    }
    // Prometheus still has them.
    let scrape = service.scrape().await;
    assert_eq!(scrape.value("lock_requests_total", &[("outcome", "granted")]), Some(1.0));

    // What is not sent yet is sent at the end.
    assert_eq!(service.ask(Method::POST, "/imports/7?ms=0").await.status, 200);
    service.process.terminate();
    assert!(service.process.exited(LIMIT).await.success(), "{}", service.process.output());
    assert!(has(&collector.traces, &["lock.hold", "/imports/{tenant}"]));
}

#[tokio::test]
async fn a_collector_that_does_not_answer_disturbs_nothing() {
    let nowhere = format!("http://127.0.0.1:{}", lock_tests::free_port());
    let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT", nowhere)];
    let service = ObservedService::start_with(&environment).await;
    assert_eq!(service.ask(Method::PUT, "/orders/7?ms=0").await.status, 200);
    service.process.terminate();
    assert!(service.process.exited(LIMIT).await.success(), "{}", service.process.output());
}
