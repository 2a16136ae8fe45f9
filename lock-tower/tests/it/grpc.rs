//! A tonic service under the layer, over real sockets.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::HeaderName;
use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_tower::{
    LockClient, MemoryStore, Outcome, RequestLockLayer, grpc,
    settings::{HoldUntil, OnBusy},
};
use tokio::sync::Notify;
use tokio_stream::{Empty, wrappers::TcpListenerStream};
use tonic::{
    Code, Request, Response, Status,
    transport::{Channel, Server},
};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse,
    health_client::HealthClient,
    health_server::{Health, HealthServer},
};
use tonic_types::{ErrorInfo, StatusExt};

use crate::common::NEVER;

const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// Answers a request, at once or never.
#[derive(Debug, Clone, Default)]
struct Orders {
    calls: Arc<AtomicUsize>,
    called: Arc<Notify>,
    hangs: bool,
}

#[tonic::async_trait]
impl Health for Orders {
    async fn check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.called.notify_one();
        if self.hangs {
            std::future::pending::<()>().await;
        }
        Ok(Response::new(HealthCheckResponse { status: 1 }))
    }

    type WatchStream = Empty<Result<HealthCheckResponse, Status>>;

    async fn watch(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(tokio_stream::empty()))
    }
}

struct Service {
    orders: Orders,
    client: HealthClient<Channel>,
}

impl Service {
    async fn start(lock: RequestLockLayer, orders: Orders) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server::builder()
            .layer(lock)
            .add_service(HealthServer::new(orders.clone()))
            .serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(server);
        let channel = Channel::from_shared(format!("http://{address}")).unwrap();
        let client = HealthClient::new(channel.connect().await.unwrap());
        Self { orders, client }
    }

    async fn check(
        &self,
        prepare: impl FnOnce(&mut Request<HealthCheckRequest>),
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let mut request = Request::new(HealthCheckRequest::default());
        request.metadata_mut().insert("x-order", "7".parse().unwrap());
        prepare(&mut request);
        self.client.clone().check(request).await
    }

    fn calls(&self) -> usize {
        self.orders.calls.load(Ordering::SeqCst)
    }
}

fn layer(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::with_key(locks.clone(), |parts| {
        let order = parts.headers.get("x-order").and_then(|order| order.to_str().ok());
        Ok(format!("order:{}", order.unwrap_or("none")))
    })
    .name("order")
}

fn info(status: &Status) -> ErrorInfo {
    let info = status.get_details_error_info().expect("it has details");
    assert_eq!(info.domain, "lock-tower");
    info
}

#[tokio::test]
async fn calls_run_under_the_lock() {
    let locks = LockClient::in_memory();
    for hold_until in [HoldUntil::Handler, HoldUntil::Body] {
        let lock = layer(&locks).hold_until(hold_until);
        let service = Service::start(lock, Orders::default()).await;
        for _ in 0..3 {
            let answer = service.check(|_| {}).await.expect("its trailers arrive too");
            assert_eq!(answer.into_inner().status, 1);
        }
        assert_eq!(service.calls(), 3);
    }
    let _guard = locks.write("order:7").acquire().await.expect("it was released");
}

#[tokio::test]
async fn busy_is_aborted() {
    let locks = LockClient::in_memory();
    let _guard = locks.write("order:7").acquire().await.unwrap();
    let service = Service::start(layer(&locks).wait(Duration::ZERO), Orders::default()).await;
    let status = service.check(|_| {}).await.unwrap_err();
    assert_eq!(status.code(), Code::Aborted, "{status:?}");
    let info = info(&status);
    assert_eq!(info.reason, "lock-busy");
    assert_eq!(info.metadata["executed"], "false");
    assert_eq!(info.metadata["lock"], "order");
    assert_eq!(info.metadata["kind"], "read_write");
    assert_eq!(info.metadata["mode"], "write");
    let retry = status.get_details_retry_info().and_then(|retry| retry.retry_delay);
    assert!(retry.is_some_and(|delay| delay > Duration::ZERO), "{status:?}");
    assert_eq!(service.calls(), 0);
}

#[tokio::test]
async fn a_client_waits_no_longer_than_it_said() {
    let locks = LockClient::in_memory();
    let _guard = locks.write("order:7").acquire().await.unwrap();
    let service =
        Service::start(layer(&locks).deadline_header(GRPC_TIMEOUT).wait(NEVER), Orders::default())
            .await;
    let given = |request: &mut Request<_>| request.set_timeout(Duration::from_millis(300));
    let status = service.check(given).await.unwrap_err();
    // The lock's own answer, unless this machine stalled until tonic's timers were due too.
    match status.code() {
        Code::Aborted => assert_eq!(info(&status).reason, "lock-busy"),
        code => assert!(matches!(code, Code::DeadlineExceeded | Code::Cancelled), "{status:?}"),
    }
    while locks.health().await.waiting > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(service.calls(), 0);
}

#[tokio::test]
async fn what_the_handler_needs_is_reserved() {
    let locks = LockClient::in_memory();
    let lock = layer(&locks).deadline_header(GRPC_TIMEOUT).reserve(Duration::from_secs(60));
    let service = Service::start(lock, Orders::default()).await;
    let given = |request: &mut Request<_>| request.set_timeout(Duration::from_secs(59));
    let status = service.check(given).await.unwrap_err();
    assert_eq!((status.code(), &*info(&status).reason), (Code::Unavailable, "lock-overloaded"));
    assert_eq!(service.calls(), 0);
}

#[tokio::test]
async fn a_malformed_timeout_is_an_invalid_argument() {
    let service = Service::start(
        layer(&LockClient::in_memory()).deadline_header(GRPC_TIMEOUT),
        Orders::default(),
    )
    .await;
    let soon = |request: &mut Request<HealthCheckRequest>| {
        _ = request.metadata_mut().insert("grpc-timeout", "soon".parse().unwrap());
    };
    let status = service.check(soon).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    assert_eq!(info(&status).reason, "lock-deadline-invalid");
    assert!(status.message().contains("`grpc-timeout`"), "{status:?}");
    assert_eq!(service.calls(), 0);
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_unavailable() {
    let (store, link) = (MemoryStore::new(), Arc::<ConstantFaults>::default());
    let locks = faulty(LockClient::builder(), &store, Arc::clone(&link) as _);
    link.set(Delivery::after(NEVER));
    let service = Service::start(layer(&locks), Orders::default()).await;
    let status = service.check(|_| {}).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    let info = info(&status);
    assert_eq!((&*info.reason, &*info.metadata["executed"]), ("lock-unavailable", "false"));
    assert_eq!(service.calls(), 0);
}

#[tokio::test]
async fn a_lost_lock_is_of_unknown_outcome() {
    let locks = LockClient::in_memory();
    let orders = Orders { hangs: true, ..Orders::default() };
    let lock = layer(&locks).lease(Duration::from_millis(300));
    let service = Service::start(lock, orders).await;
    let lose = async {
        service.orders.called.notified().await;
        locks.force_release("order:7").await.unwrap();
    };
    let (status, ()) = tokio::join!(service.check(|_| {}), lose);
    let status = status.unwrap_err();
    assert_eq!(status.code(), Code::Unknown, "{status:?}");
    let info = info(&status);
    assert_eq!((&*info.reason, &*info.metadata["executed"]), ("lock-lost", "unknown"));
}

#[tokio::test]
async fn a_status_of_http_leaves_the_code_alone() {
    let locks = LockClient::in_memory();
    let _guard = locks.write("order:7").acquire().await.unwrap();
    let lock = layer(&locks).on_busy(OnBusy::Fail);
    let lock = lock.answer_status(Outcome::Busy, http::StatusCode::SERVICE_UNAVAILABLE);
    let service = Service::start(lock, Orders::default()).await;
    let status = service.check(|_| {}).await.unwrap_err();
    assert_eq!((status.code(), &*info(&status).reason), (Code::Aborted, "lock-busy"));
    assert_eq!(service.calls(), 0);
}

#[tokio::test]
async fn a_skipped_request_is_not_to_be_repeated() {
    let locks = LockClient::in_memory();
    let _guard = locks.write("order:7").acquire().await.unwrap();
    let lock = layer(&locks).on_busy(OnBusy::Skip);
    let lock = lock.answer_status(Outcome::Skipped, http::StatusCode::NO_CONTENT);
    let service = Service::start(lock, Orders::default()).await;
    let status = service.check(|_| {}).await.unwrap_err();
    assert_eq!((status.code(), &*info(&status).reason), (Code::AlreadyExists, "lock-skipped"));
    assert_eq!(service.calls(), 0);
}

#[tokio::test]
async fn every_outcome_has_a_code() {
    let locks = LockClient::in_memory();
    let _guard = locks.write("order:7").acquire().await.unwrap();
    let busy = locks.write("order:7").try_acquire().await.unwrap_err();
    let status = grpc::status(busy);
    assert_eq!((status.code(), &*info(&status).reason), (Code::Aborted, Outcome::Busy.as_str()));
    assert!(!status.message().contains("order:7"), "keys may be personal data: {status:?}");
    let misused = locks.write("").try_acquire().await.unwrap_err();
    assert_eq!(grpc::status(misused).code(), Code::InvalidArgument);
}
