//! Fencing tokens that go from one service to another.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::{
    Extension, Router,
    body::Body,
    extract::{Path, State},
    routing::{get, put},
};
use http::{Request, request::Parts};
use lock_tower::{
    Enforce, FencingToken, LockClient, Locked, RequestLockLayer,
    fence::{FenceStore, FenceTrust, IncomingFence, IncomingFenceError, LOCK_FENCE, MemoryFences},
};

use tokio::time::advance;

use crate::common::{Answer, call, send};

fn layer(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::new(locks.clone(), "order:{id}").unwrap()
}

fn service(layer: RequestLockLayer) -> Router {
    let token = async |lock: Locked| lock.fencing_token().to_string();
    Router::new().route("/orders/{id}", put(token).get(async || "seen")).route_layer(layer)
}

#[tokio::test]
async fn a_response_has_its_token_where_it_is_asked_for() {
    let locks = LockClient::in_memory();
    let answer = call(&service(layer(&locks)), "PUT", "/orders/7").await;
    assert!(!answer.headers.contains_key(LOCK_FENCE), "not by default: {answer:?}");

    let shows = service(layer(&locks).fence_header(true));
    let first = call(&shows, "PUT", "/orders/7").await;
    assert_eq!(first.headers[LOCK_FENCE], first.text);
    let second = call(&shows, "PUT", "/orders/7").await;
    let token = |answer: &Answer| answer.text.parse::<u64>().unwrap();
    assert!(token(&second) > token(&first));
    assert!(call(&shows, "GET", "/orders/7").await.headers.contains_key(LOCK_FENCE));

    // There is none to show.
    let locks = || LockClient::in_memory();
    let several = RequestLockLayer::multi(locks(), ["a:{id}", "b:{id}"]).unwrap();
    for layer in [layer(&locks()).enforce(Enforce::Off), layer(&locks()).semaphore(3), several] {
        let router = Router::new().route("/orders/{id}", get(async || "seen"));
        let router = router.route_layer(layer.fence_header(true));
        let answer = call(&router, "GET", "/orders/7").await;
        assert_eq!(answer.text, "seen");
        assert!(!answer.headers.contains_key(LOCK_FENCE), "{answer:?}");
    }
}

async fn ship(
    fence: IncomingFence,
    Path(id): Path<u64>,
    State(fences): State<Arc<MemoryFences>>,
) -> Result<String, IncomingFenceError> {
    fence.admit(&*fences, &format!("order:{id}")).await?;
    Ok(fence.token().to_string())
}

fn warehouse() -> Router {
    trusting(FenceTrust::when(|_| true))
}

fn trusting(trust: FenceTrust) -> Router {
    untrusting().layer(Extension(trust))
}

fn untrusting() -> Router {
    Router::new().route("/orders/{id}", put(ship)).with_state(Arc::default())
}

/// The token that Redis would give `ahead` from now.
fn in_microseconds(ahead: Duration) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    (now + ahead).as_micros().to_string()
}

#[tokio::test]
async fn a_service_takes_tokens_only_from_those_that_it_trusts() {
    ask(&untrusting(), 7, &["5"]).await.assert_problem(500, "fence-misconfigured");
    let of_the_shop = |request: &Parts| request.uri.path() == "/orders/7";
    let app = trusting(FenceTrust::when(of_the_shop));
    assert_eq!(ask(&app, 7, &["5"]).await.text, "5");
    for tokens in [&["5"][..], &[]] {
        let problem = ask(&app, 8, tokens).await.assert_problem(403, "fence-untrusted");
        assert_eq!(problem["executed"], false);
    }
}

/// It would lock all later holders out.
#[tokio::test]
async fn a_token_far_ahead_of_the_clock_is_refused() {
    let (soon, later) = (Duration::from_secs(50 * 60), Duration::from_secs(70 * 60));
    let app = warehouse();
    for forged in [in_microseconds(later), u64::MAX.to_string()] {
        let problem = ask(&app, 7, &[&forged]).await.assert_problem(400, "fence-ahead");
        assert!(problem["detail"].as_str().unwrap().contains("clock"), "{problem}");
    }
    assert_eq!(ask(&app, 7, &["5"]).await.text, "5", "nothing was admitted");
    let soon = in_microseconds(soon);
    assert_eq!(ask(&app, 7, &[&soon]).await.text, soon);
    // Those of ZooKeeper follow no clock.
    let app = trusting(FenceTrust::when(|_| true).any_number());
    assert_eq!(ask(&app, 7, &[&u64::MAX.to_string()]).await.text, u64::MAX.to_string());
}

#[tokio::test(start_paused = true)]
async fn what_was_long_not_seen_is_forgotten_and_no_older_token_is_admitted_for_it() {
    let fences = MemoryFences::default();
    let admit = async |resource: &str, token| {
        fences.admit(resource, FencingToken::new(token)).await.unwrap()
    };
    assert!(admit("a", 50).await && admit("b", 10).await);
    assert!(!admit("a", 49).await && admit("c", 5).await);
    for _ in 0..2 {
        advance(Duration::from_secs(60 * 60)).await;
        assert!(admit("b", 10).await, "it is seen, and remembered");
    }
    assert!(!admit("a", 49).await, "forgotten");
    assert!(!admit("never seen", 49).await, "it could be the forgotten one");
    assert!(admit("a", 50).await && admit("never seen", 51).await && admit("b", 11).await);
}

#[tokio::test]
async fn no_more_than_a_number_of_resources_is_remembered() {
    let fences = MemoryFences::default();
    let admit = async |resource: &str, token| {
        fences.admit(resource, FencingToken::new(token)).await.unwrap()
    };
    for number in 1..=65_535 {
        assert!(admit(&format!("r{number}"), number + 100).await);
    }
    assert!(admit("new", 50).await, "none is forgotten yet");
    assert!(admit("one more", 200_000).await);
    assert!(!admit("newer", 50).await && !admit("r1", 100).await, "the first are forgotten");
    assert!(admit("r65535", 65_635).await && !admit("r65535", 65_634).await);
}

async fn ask(app: &Router, id: u64, tokens: &[&str]) -> Answer {
    let mut request = Request::put(format!("/orders/{id}"));
    for token in tokens {
        request = request.header(LOCK_FENCE, *token);
    }
    send(app, request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_token_older_than_the_newest_seen_is_refused() {
    let app = warehouse();
    assert_eq!(ask(&app, 7, &["5"]).await.text, "5");
    assert_eq!(ask(&app, 7, &["5"]).await.text, "5", "the same holder goes on");
    assert_eq!(ask(&app, 7, &["9"]).await.text, "9");
    let problem = ask(&app, 7, &["8"]).await.assert_problem(409, "fence-stale");
    assert_eq!(problem["executed"], false);
    // Each resource has its own.
    assert_eq!(ask(&app, 8, &["8"]).await.text, "8");
}

#[tokio::test]
async fn what_is_no_token_is_refused() {
    let app = warehouse();
    ask(&app, 7, &[]).await.assert_problem(400, "fence-missing");
    for bad in ["", "0", "-1", "+1", "1.5", "0x1", "1 2", "18446744073709551616", "five"] {
        ask(&app, 7, &[bad]).await.assert_problem(400, "fence-invalid");
    }
    ask(&app, 7, &["5", "5"]).await.assert_problem(400, "fence-invalid");
    assert_eq!(ask(&app, 7, &["1"]).await.text, "1", "nothing was admitted");
}

#[tokio::test]
async fn of_many_at_once_none_older_is_admitted_after_a_newer_one() {
    let fences = Arc::new(MemoryFences::default());
    let admitted = Arc::new(std::sync::Mutex::new(Vec::new()));
    let tasks = (1..=200_u64).map(|number| {
        let (fences, admitted) = (Arc::clone(&fences), Arc::clone(&admitted));
        tokio::spawn(async move {
            let token = FencingToken::new(1 + (number * 7919) % 200);
            if fences.admit("r", token).await.unwrap() {
                admitted.lock().unwrap().push(token);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let admitted = admitted.lock().unwrap().clone();
    assert!(admitted.is_sorted(), "{admitted:?}");
    assert_eq!(admitted.last(), Some(&FencingToken::new(200)));
}

struct Broken;

impl FenceStore for Broken {
    type Error = &'static str;

    fn admit(
        &self,
        _: &str,
        _: FencingToken,
    ) -> impl Future<Output = Result<bool, &'static str>> + Send {
        std::future::ready(Err("the disk is full"))
    }
}

#[tokio::test]
async fn a_store_that_fails_refuses() {
    let handler = async |fence: IncomingFence| fence.admit(&Broken, "r").await;
    let app = Router::new().route("/orders/{id}", put(handler));
    let app = app.layer(Extension(FenceTrust::when(|_| true)));
    let problem = ask(&app, 7, &["5"]).await.assert_problem(500, "fence-unavailable");
    assert!(!problem.to_string().contains("disk"), "{problem}");
}

#[tokio::test]
async fn a_token_goes_from_one_service_to_the_other() {
    let locks = LockClient::in_memory();
    let warehouse = warehouse();
    let behind = warehouse.clone();
    let order = async move |Path(id): Path<u64>, lock: Locked| {
        let request = Request::put(format!("/orders/{id}"));
        let request = request.header(LOCK_FENCE, lock.fencing_token().get());
        send(&behind, request.body(Body::empty()).unwrap()).await.text
    };
    let shop = Router::new().route("/orders/{id}", put(order)).route_layer(layer(&locks));
    let first = call(&shop, "PUT", "/orders/7").await.text;
    call(&shop, "PUT", "/orders/7").await;
    ask(&warehouse, 7, &[&first]).await.assert_problem(409, "fence-stale");
}
