//! A lock in shadow mode: it measures and delays no request.

use std::{sync::Arc, time::Duration};

use crate::common::{Answer, NEVER, call, gated_work, logs::Logs, metrics::Metrics};
use axum::{Router, extract::Request, middleware::map_request, routing::put};
use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_tower::{
    Enforce, FencingToken, LockClient, Locked, MemoryStore, Mode, RequestDeadline,
    RequestLockLayer,
    settings::{HoldUntil, Unlocked},
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
    time::Instant,
};

/// A replica of a service with a handler in the test's hands.
struct Replica {
    locks: LockClient,
    app: Router,
    began: mpsc::UnboundedReceiver<Locked>,
    goes_on: Arc<Semaphore>,
}

fn layer(locks: &LockClient, enforce: Enforce) -> RequestLockLayer {
    let keys = ["order:{a:u64}", "order:{b:u64}"];
    RequestLockLayer::multi(locks.clone(), keys).unwrap().name("order").enforce(enforce)
}

fn replica(
    store: &MemoryStore,
    configured: impl FnOnce(&LockClient) -> RequestLockLayer,
) -> Replica {
    let locks = LockClient::builder().in_memory_on(store);
    let lock = configured(&locks);
    let (work, began, goes_on) = gated_work("done");
    let app = Router::new().route("/{a}/{b}", put(work)).route_layer(lock);
    Replica { locks, app, began, goes_on }
}

fn in_shadow(store: &MemoryStore) -> Replica {
    replica(store, |locks| layer(locks, Enforce::Shadow))
}

impl Replica {
    async fn at_work(&mut self, path: &'static str) -> (JoinHandle<Answer>, Locked) {
        let app = self.app.clone();
        let request = tokio::spawn(async move { call(&app, "PUT", path).await });
        (request, self.began.recv().await.unwrap())
    }

    async fn ends(&self, request: JoinHandle<Answer>) {
        self.goes_on.add_permits(1);
        let answer = request.await.unwrap();
        assert_eq!((answer.status.as_u16(), &*answer.text), (200, "done"));
        assert!(!answer.headers.contains_key("lock-degraded"));
    }

    async fn is_free(&self, key: &str) -> bool {
        !self.locks.is_locked(key, Mode::Write).await.unwrap()
    }
}

/// `pass`, `wait`, `refuse`, `not-measured` and the overlaps.
fn measured(metrics: &Metrics) -> [f64; 5] {
    let would = ["pass", "wait", "refuse", "not-measured"];
    let [pass, wait, refuse, not] = would.map(|would| {
        metrics.value(&format!(r#"lock_shadow_total{{policy="order",would="{would}"}}"#))
    });
    [pass, wait, refuse, not, metrics.value(r#"lock_shadow_overlaps_total{policy="order"}"#)]
}

#[tokio::test(start_paused = true)]
async fn it_measures_under_keys_of_its_own_what_would_have_been() {
    let (metrics, store) = (Metrics::collect(), MemoryStore::new());
    let (mut here, mut there) = (in_shadow(&store), in_shadow(&store));
    let enforced = LockClient::builder().in_memory_on(&store);
    let _real = enforced.write("order:7").acquire().await.unwrap();

    let (first, lock) = here.at_work("/7/7").await;
    assert_eq!(lock.unlocked(), Some(Unlocked::Shadow));
    assert_eq!(lock.fencing_token(), FencingToken::NONE);
    assert!(!lock.is_held());
    assert!(here.is_free("order:8").await && !here.is_free("lock-shadow:order:7").await);
    assert_eq!(measured(&metrics), [1.0, 0.0, 0.0, 0.0, 0.0]);

    // Its handler runs at once, which is the overlap.
    let (second, _) = there.at_work("/7/7").await;
    assert_eq!(measured(&metrics), [1.0, 0.0, 0.0, 0.0, 1.0]);
    here.ends(first).await;
    // It would have had the lock now.
    while measured(&metrics)[1] == 0.0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // And so others would wait for it, but a second at most.
    let (third, _) = here.at_work("/7/7").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(measured(&metrics), [1.0, 1.0, 1.0, 0.0, 2.0]);
    there.ends(second).await;
    here.ends(third).await;
    assert_eq!(measured(&metrics), [1.0, 1.0, 1.0, 0.0, 2.0]);
    while !here.is_free("lock-shadow:order:7").await {
        tokio::task::yield_now().await;
    }
    let series = r#"lock_requests_total{policy="order",mode="write",outcome="shadow"}"#;
    assert_eq!(metrics.value(series), 3.0);
}

#[tokio::test]
async fn a_request_that_ends_while_it_would_wait_is_reported() {
    let (metrics, store) = (Metrics::collect(), MemoryStore::new());
    let mut replica = in_shadow(&store);
    let (first, _) = replica.at_work("/7/7").await;
    let (second, _) = replica.at_work("/7/7").await;
    replica.goes_on.add_permits(2);
    second.await.unwrap();
    first.await.unwrap();
    assert_eq!(measured(&metrics), [1.0, 1.0, 0.0, 0.0, 1.0]);
}

#[tokio::test]
async fn too_many_waiters_are_an_overlap_and_a_refusal() {
    let (metrics, store) = (Metrics::collect(), MemoryStore::new());
    let mut replica = replica(&store, |locks| layer(locks, Enforce::Shadow).max_waiters(0));
    let (first, _) = replica.at_work("/7/7").await;
    let (second, _) = replica.at_work("/7/7").await;
    assert_eq!(measured(&metrics), [1.0, 0.0, 1.0, 0.0, 1.0]);
    replica.ends(first).await;
    replica.ends(second).await;
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_is_too_near_is_a_refusal() {
    let (metrics, store) = (Metrics::collect(), MemoryStore::new());
    let mut replica =
        replica(&store, |locks| layer(locks, Enforce::Shadow).reserve(Duration::from_secs(5)));
    replica.app = replica.app.layer(map_request(|mut request: Request| {
        let soon = RequestDeadline::at(Instant::now() + Duration::from_secs(1));
        request.extensions_mut().insert(soon);
        std::future::ready(request)
    }));
    let (request, _) = replica.at_work("/7/7").await;
    replica.ends(request).await;
    assert_eq!(measured(&metrics), [0.0, 0.0, 1.0, 0.0, 0.0]);
}

#[tokio::test]
async fn inside_one_request_it_is_reentrant() {
    let (metrics, store) = (Metrics::collect(), MemoryStore::new());
    let mut replica = in_shadow(&store);
    let within = layer(&replica.locks, Enforce::Shadow);
    let work;
    (work, replica.began, replica.goes_on) = gated_work("done");
    replica.app =
        Router::new().route("/{a}/{b}", put(work)).route_layer(within.clone()).route_layer(within);
    let (request, _) = replica.at_work("/7/7").await;
    replica.ends(request).await;
    assert_eq!(measured(&metrics), [2.0, 0.0, 0.0, 0.0, 0.0]);
}

#[tokio::test(start_paused = true)]
async fn until_the_body_ends_it_goes_on_measuring() {
    let (metrics, store) = (Metrics::collect(), MemoryStore::new());
    let mut first = in_shadow(&store);
    let (holder, _) = first.at_work("/7/7").await;
    let locks = LockClient::builder().in_memory_on(&store);
    let lock = layer(&locks, Enforce::Shadow).hold_until(HoldUntil::Body);
    let streams = || async {
        axum::body::Body::from_stream(futures_util::stream::pending::<Result<&str, &str>>())
    };
    let app = Router::new().route("/{a}/{b}", put(streams)).route_layer(lock);
    let stream = tokio::spawn(async move { call(&app, "PUT", "/7/7").await });

    // Longer than it would have waited.
    tokio::time::sleep(Duration::from_secs(5)).await;

    assert!(!stream.is_finished());
    assert_eq!(measured(&metrics), [1.0, 0.0, 1.0, 0.0, 1.0]);
    first.ends(holder).await;
}

#[tokio::test]
async fn a_request_without_a_key_passes_and_counts_as_refused() {
    let (metrics, logs, store) = (Metrics::collect(), Logs::collect(), MemoryStore::new());
    for enforce in [Enforce::Shadow, Enforce::Percent(99), Enforce::Off] {
        let mut replica = replica(&store, |locks| layer(locks, enforce));
        let (request, lock) = replica.at_work("/seven/7").await;
        assert_eq!(lock.unlocked(), Some(Unlocked::NoKey));
        replica.ends(request).await;
    }
    assert_eq!(measured(&metrics), [0.0, 0.0, 2.0, 0.0, 0.0], "nothing is measured when it is off");
    assert!(!logs.text().contains("seven"), "{}", logs.text());
    for enforce in [Enforce::On, Enforce::Percent(100)] {
        let replica = replica(&store, |locks| layer(locks, enforce));
        call(&replica.app, "PUT", "/seven/7").await.assert_problem(400, "lock-key-invalid");
    }
}

#[tokio::test]
async fn a_down_store_and_a_shut_down_client_block_no_request() {
    let (metrics, store) = (Metrics::collect(), MemoryStore::new());
    let mut replica = in_shadow(&store);
    store.set_down(true);
    let (request, _) = replica.at_work("/7/7").await;
    replica.ends(request).await;
    assert_eq!(measured(&metrics), [0.0, 0.0, 0.0, 1.0, 0.0]);
    store.set_down(false);
    replica.locks.shutdown(NEVER).await.unwrap();
    let (request, _) = replica.at_work("/7/7").await;
    replica.ends(request).await;
    assert_eq!(measured(&metrics), [0.0, 0.0, 0.0, 2.0, 0.0]);
}

#[tokio::test]
async fn off_does_nothing_at_all() {
    let (metrics, store) = (Metrics::collect(), MemoryStore::new());
    let mut replica = replica(&store, |locks| layer(locks, Enforce::Off));
    let (request, lock) = replica.at_work("/7/7").await;
    assert_eq!(lock.unlocked(), Some(Unlocked::Off));
    assert!(replica.is_free("order:7").await && replica.is_free("lock-shadow:order:7").await);
    replica.ends(request).await;
    assert_eq!(measured(&metrics), [0.0; 5]);
}

/// Of `order:1` and `order:2` half the percent takes the first.
#[tokio::test]
async fn a_percentage_enforces_key_by_key_and_everywhere_the_same() {
    let (metrics, store) = (Metrics::collect(), MemoryStore::new());
    let half = |locks: &LockClient| layer(locks, Enforce::Percent(50)).wait(Duration::ZERO);
    let (mut here, mut there) = (replica(&store, half), replica(&store, half));

    let (both, lock) = here.at_work("/1/2").await;
    assert!(lock.is_held() && lock.unlocked().is_none());
    let keys: Vec<_> = lock.views().iter().map(|view| view.key().as_str()).collect();
    assert_eq!(keys, ["order:1"]);
    assert!(here.is_free("order:2").await && !here.is_free("lock-shadow:order:2").await);
    assert!(here.is_free("lock-shadow:order:1").await);

    call(&there.app, "PUT", "/1/1").await.assert_problem(423, "lock-busy");
    call(&there.app, "PUT", "/2/1").await.assert_problem(423, "lock-busy");
    let (other, lock) = there.at_work("/2/2").await;
    assert_eq!(lock.unlocked(), Some(Unlocked::Shadow));
    assert_eq!(measured(&metrics), [1.0, 0.0, 1.0, 0.0, 1.0]);
    here.ends(both).await;
    there.ends(other).await;
}

/// A request continues while its shadow waits: locks that it acquires meanwhile are inside the
/// shadow's lock, as they would be inside the real one.
#[tokio::test(start_paused = true)]
async fn a_shadow_that_waits_takes_its_lock_in_no_other_order() {
    let store = MemoryStore::new();
    let replica = LockClient::builder().in_memory_on(&store);
    let link = Arc::<ConstantFaults>::default();
    let locks = faulty(LockClient::builder(), &store, Arc::clone(&link) as _);
    let (inside, answers) = (locks.clone(), Arc::clone(&link));
    let work = async move || {
        answers.set(Delivery::AT_ONCE);
        let stock = inside.write("stock").acquire().await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        drop(stock);
    };
    let lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap();
    let lock = lock.enforce(Enforce::Shadow);
    let app = Router::new().route("/{id}", put(work)).route_layer(lock);

    call(&app, "PUT", "/7").await;
    let _other = replica.write("lock-shadow:order:7").acquire().await.unwrap();
    link.set(Delivery::after(Duration::from_millis(100)));
    call(&app, "PUT", "/7").await;

    assert_eq!(locks.lock_order_inversions(), []);
}
