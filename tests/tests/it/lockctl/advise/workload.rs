//! A seeded workload, and a service in this process that it is played to.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    routing::{get, put},
};
use fastrand::Rng;
use lock_tower::{LockClient, policies::Policies};
use tokio::{task::JoinSet, time::Instant};
use tower::ServiceExt;
use tracing_subscriber::{Layer, filter::Targets, fmt::MakeWriter, layer::SubscriberExt, registry};

/// A request: when it arrives, for what, and how long its handler works.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    at: Duration,
    method: &'static str,
    path: String,
    work: Duration,
}

/// What the client of a service saw.
#[derive(Debug, Default, Clone)]
pub(crate) struct Measured {
    pub(crate) requests: usize,
    pub(crate) refused: usize,
    /// Of those that were not refused, in seconds, ascending.
    pub(crate) waits: Vec<f64>,
    pub(crate) seconds: f64,
}

impl Measured {
    pub(crate) fn refused_share(&self) -> f64 {
        self.refused as f64 / self.requests as f64
    }

    pub(crate) fn wait_mean(&self) -> f64 {
        self.waits.iter().sum::<f64>() / self.waits.len() as f64
    }

    pub(crate) fn wait_p95(&self) -> f64 {
        self.waits[(self.waits.len() * 95).div_ceil(100) - 1]
    }
}

/// How a workload is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) seed: u64,
    pub(crate) requests: usize,
    pub(crate) per_second: f64,
    /// Orders; the first ones are requested most.
    pub(crate) orders: u32,
    pub(crate) work: Duration,
    /// The share of requests that read.
    pub(crate) reads: f64,
}

/// Draws random arrivals, and works of random length with this mean. All are whole milliseconds, as
/// the timers are that play them.
pub(crate) fn workload(shape: Shape) -> Vec<Planned> {
    let mut rng = Rng::with_seed(shape.seed);
    let mut at = 0.0;
    let exponential = |rng: &mut Rng, mean: f64| -mean * (1.0 - rng.f64()).ln();
    let whole = |seconds: f64| Duration::from_millis((seconds * 1e3).round() as u64);
    (0..shape.requests)
        .map(|_| {
            at += exponential(&mut rng, 1.0 / shape.per_second);
            let order = f64::from(shape.orders) * rng.f64() * rng.f64();
            let work = exponential(&mut rng, shape.work.as_secs_f64()).max(0.001);
            Planned {
                at: whole(at),
                method: if rng.f64() < shape.reads { "GET" } else { "PUT" },
                path: format!("/orders/{}/lines/{}", order as u32, rng.u32(0..4)),
                work: whole(work),
            }
        })
        .collect()
}

/// The service's routes, with the locks of a policy file.
fn service(locks: &LockClient, file: &Path) -> Router {
    let work = async |request: Request| {
        let work = request.headers()["x-work-us"].to_str().unwrap().parse().unwrap();
        tokio::time::sleep(Duration::from_micros(work)).await;
    };
    let policies = Policies::builder(locks.clone()).read(file).unwrap();
    let route = get(work).merge(put(work));
    Router::new().route("/orders/{id}/lines/{line}", route).route_layer(policies.layer())
}

/// Plays a workload to as many instances as there are clients, and measures.
pub(crate) async fn play(locks: &[LockClient], file: &Path, workload: &[Planned]) -> Measured {
    let services: Vec<_> = locks.iter().map(|locks| service(locks, file)).collect();
    let start = Instant::now();
    let mut requests = JoinSet::new();
    for (number, planned) in workload.iter().cloned().enumerate() {
        let service = services[number % services.len()].clone();
        requests.spawn(async move {
            tokio::time::sleep_until(start + planned.at).await;
            let began = Instant::now();
            let request = Request::builder()
                .method(planned.method)
                .uri(planned.path)
                .header("x-work-us", planned.work.as_micros().to_string())
                .body(Body::empty());
            let answer = service.oneshot(request.unwrap()).await.unwrap();
            let waited = began.elapsed().saturating_sub(planned.work);
            match answer.status().as_u16() {
                200 => Some(waited.as_secs_f64()),
                423 => None,
                other => panic!("answered {other}"),
            }
        });
    }
    let mut measured = Measured { requests: workload.len(), ..Measured::default() };
    while let Some(done) = requests.join_next().await {
        match done.unwrap() {
            Some(waited) => measured.waits.push(waited),
            None => measured.refused += 1,
        }
    }
    measured.waits.sort_by(f64::total_cmp);
    measured.seconds = workload.last().unwrap().at.as_secs_f64();
    measured
}

/// Collects the shadow log of this thread, as a service writes it by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn collect(&self) -> tracing::subscriber::DefaultGuard {
        let targets = Targets::new().with_target("lock_tower::shadow", tracing::Level::DEBUG);
        let lines = tracing_subscriber::fmt::layer().with_writer(self.clone()).with_filter(targets);
        tracing::subscriber::set_default(registry().with(lines))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Runs a future on a clock of its own, which stands still while there is something to do.
pub(crate) async fn in_virtual_time<T: Send + 'static>(
    work: impl AsyncFnOnce() -> T + Send + 'static,
) -> T {
    let run = move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(work())
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}
