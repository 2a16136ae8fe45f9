//! Tower services that know nothing of Axum.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use lock_tower::{
    LockClient, Locked, Mode, RequestLockLayer, RequestScopeLayer, Scope, key::KeyRejection,
};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

fn by_path(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::with_key(locks.clone(), |parts| {
        Ok(format!("path:{}", parts.uri.path().trim_start_matches('/')))
    })
    .wait(Duration::ZERO)
}

async fn text<B: http_body::Body<Error: std::fmt::Debug>>(response: Response<B>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A body that cannot be cloned.
struct Upload(String);

#[tokio::test]
async fn a_service_with_its_own_bodies() {
    let locks = LockClient::in_memory();
    let service = by_path(&locks).layer(service_fn(async |request: Request<Upload>| {
        let lock = Locked::from_extensions(request.extensions()).unwrap();
        assert_eq!(lock.view().unwrap().key().as_str(), "path:7");
        assert!(lock.is_held());
        Ok::<_, Infallible>(Response::new(request.into_body().0))
    }));
    let request = || Request::post("/7").body(Upload("cargo".to_owned())).unwrap();

    let response = service.clone().oneshot(request()).await.unwrap();
    assert_eq!(text(response).await, "cargo");

    let _guard = locks.read("path:7").acquire().await.unwrap();
    let response = service.oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::LOCKED);
    let problem: serde_json::Value = serde_json::from_str(&text(response).await).unwrap();
    assert_eq!(problem["lock"], "request");
    assert_eq!(problem["type"], "urn:lock-tower:problem:lock-busy");
}

#[derive(Debug, PartialEq)]
struct Broken;

#[tokio::test]
async fn the_inner_services_error_is_kept() {
    let locks = LockClient::in_memory();
    let service = by_path(&locks)
        .layer(service_fn(async |_: Request<()>| Err::<Response<String>, Broken>(Broken)));

    let error: Broken = service.oneshot(Request::new(())).await.unwrap_err();

    assert_eq!(error, Broken);
    assert!(locks.write("path:").try_acquire().await.is_ok(), "released all the same");
}

/// A service that may be called only after it was polled ready, as Tower demands of callers.
struct OncePolled {
    is_ready: bool,
}

impl Clone for OncePolled {
    fn clone(&self) -> Self {
        Self { is_ready: false }
    }
}

impl Service<Request<()>> for OncePolled {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "called without having been polled ready");
        ready(Ok(Response::new("ready".to_owned())))
    }
}

#[tokio::test]
async fn the_instance_that_is_called_is_the_one_that_was_ready() {
    let locks = LockClient::in_memory();
    let mut service = ServiceBuilder::new()
        .layer(RequestScopeLayer::new(locks.clone()))
        .layer(by_path(&locks))
        .service(OncePolled { is_ready: false });

    for _ in 0..2 {
        let response = service.ready().await.unwrap().call(Request::new(())).await.unwrap();
        assert_eq!(text(response).await, "ready");
    }
}

#[tokio::test]
async fn the_inner_service_is_called_in_the_scope() {
    let locks = LockClient::in_memory();
    // Not only its future: `call` may do work too.
    let looks_in_call = service_fn(|_: Request<()>| {
        ready(Ok::<_, Infallible>(Response::new(Scope::current().is_some().to_string())))
    });

    let response = by_path(&locks).layer(looks_in_call).oneshot(Request::new(())).await.unwrap();
    assert_eq!(text(response).await, "true");
    let scoped = RequestScopeLayer::new(locks).layer(looks_in_call);
    assert_eq!(scoped.oneshot(Request::new(())).await.unwrap().body(), "true");
}

#[tokio::test]
async fn a_dropped_request_releases() {
    let locks = LockClient::in_memory();
    let service = by_path(&locks).layer(service_fn(|_: Request<()>| {
        std::future::pending::<Result<Response<String>, Infallible>>()
    }));
    let request = tokio::spawn(service.oneshot(Request::new(())));
    while !locks.is_locked("path:", Mode::Read).await.unwrap() {
        tokio::task::yield_now().await;
    }

    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());

    assert!(locks.write("path:").try_acquire().await.is_ok());
}

#[tokio::test]
async fn nothing_is_called_without_the_lock() {
    let locks = LockClient::in_memory();
    let refuses = RequestLockLayer::with_key(locks.clone(), |_| {
        Err::<String, _>(KeyRejection::invalid("no"))
    });
    let never = service_fn(|_: Request<()>| -> Ready<Result<Response<String>, Infallible>> {
        panic!("called without the lock")
    });
    let response = refuses.layer(never).oneshot(Request::new(())).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);

    let _guard = locks.write("path:").acquire().await.unwrap();
    let response = by_path(&locks).layer(never).oneshot(Request::new(())).await.unwrap();
    assert_eq!(response.status(), StatusCode::LOCKED);
}

fn assert_send_sync<T: Send + Sync + 'static>(_: &T) {}

#[test]
fn layers_and_services_go_everywhere() {
    let locks = LockClient::in_memory();
    let lock = by_path(&locks);
    let scope = RequestScopeLayer::new(locks);
    assert_send_sync(&lock.layer(()));
    assert_send_sync(&scope.layer(()));
    assert_send_sync(&lock);
    assert_send_sync(&scope);
}
