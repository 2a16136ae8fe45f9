//! Seeded traffic, and a service in this process that it is played to in virtual time.

use std::{collections::BTreeMap, path::Path, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::Request,
    routing::{get, post},
};
use fastrand::Rng;
use lock_tower::{LockClient, MemoryStore, policies::Policies};
use tokio::{task::JoinSet, time::Instant};
use tower::ServiceExt;

use super::SECRET;

const MINUTES: u64 = 10;

/// Requests of one route that come at random.
struct Traffic {
    route: &'static str,
    /// The share of requests that read.
    reads: f64,
    /// How many values the route's parameter has; the first ones come most.
    ids: u32,
    /// The mean time between two requests, in milliseconds.
    every: f64,
    /// The mean time that the handler works, in milliseconds.
    work: f64,
}

const TRAFFIC: [Traffic; 4] = [
    Traffic { route: "orders", reads: 0.6, ids: 40, every: 150.0, work: 20.0 },
    Traffic { route: "reports", reads: 0.0, ids: 25, every: 500.0, work: 400.0 },
    Traffic { route: "exports", reads: 0.0, ids: 20, every: 2_500.0, work: 6_000.0 },
    Traffic { route: "thumbnails", reads: 0.0, ids: 500, every: 400.0, work: 750.0 },
];

/// What the clients of a route saw.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) requests: usize,
    pub(crate) refused: usize,
}

impl Traffic {
    /// Draws the next request and the milliseconds before it.
    fn draw(&self, rng: &mut Rng) -> (u64, Request) {
        let exponential =
            |rng: &mut Rng, mean: f64| (-mean * (1.0 - rng.f64()).ln()).round() as u64;
        let after = exponential(rng, self.every);
        let id = (f64::from(self.ids) * rng.f64() * rng.f64()) as u32;
        let (method, id) = match self.route {
            // It fits the rule of the orders, and has no valid key.
            "orders" if rng.f64() < 0.01 => ("GET", "latest".to_owned()),
            "orders" if rng.f64() < self.reads => ("GET", id.to_string()),
            "orders" => ("PUT", id.to_string()),
            _ => ("POST", id.to_string()),
        };
        let request = Request::builder().method(method).uri(format!("/{}/{id}", self.route));
        let request = request.header("x-work-ms", exponential(rng, self.work).max(1));
        (after, request.body(Body::empty()).unwrap())
    }
}

/// An instance of the service, under the locks of a policy file.
fn instance(store: &MemoryStore, file: &Path) -> Router {
    let locks = LockClient::builder().ticket_key(SECRET).in_memory_on(store);
    let policies = Policies::builder(locks).read(file).unwrap();
    let work = async |request: Request| {
        let work = request.headers()["x-work-ms"].to_str().unwrap().parse().unwrap();
        tokio::time::sleep(Duration::from_millis(work)).await;
    };
    Router::new()
        .route("/orders/{id}", get(work).put(work))
        .route("/reports/{id}", post(work))
        .route("/exports/{id}", post(work))
        .route("/thumbnails/{id}", post(work))
        .route_layer(policies.layer())
}

/// Plays the traffic to two instances, always the same.
pub(crate) async fn play(file: &Path) -> BTreeMap<&'static str, Count> {
    let store = MemoryStore::new();
    let instances = [instance(&store, file), instance(&store, file)];
    let (start, mut requests) = (Instant::now(), JoinSet::new());
    let mut rng = Rng::with_seed(1);
    for traffic in TRAFFIC {
        let mut at = 0;
        loop {
            let (after, request) = traffic.draw(&mut rng);
            at += after;
            if at > MINUTES * 60_000 {
                break;
            }
            let instance = rng.choice(&instances).unwrap().clone();
            requests.spawn(async move {
                tokio::time::sleep_until(start + Duration::from_millis(at)).await;
                (traffic.route, instance.oneshot(request).await.unwrap().status())
            });
        }
    }
    let mut counts = BTreeMap::<_, Count>::new();
    while let Some(done) = requests.join_next().await {
        let (route, status) = done.unwrap();
        let count = counts.entry(route).or_default();
        count.requests += 1;
        count.refused += usize::from(!status.is_success());
    }
    counts
}
