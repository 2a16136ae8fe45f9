//! A wait that is almost surely in vain is refused at once.

use std::{sync::Arc, time::Duration};

use axum::{Router, extract::Path, routing::put};
use http::HeaderName;
use lock_tower::{LockClient, RequestLockLayer};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::common::{Answer, NEVER, metrics::Metrics, request, send};

const SECOND: Duration = Duration::from_secs(1);
/// Longer than a request takes to its place in line.
const QUEUED: Duration = Duration::from_millis(1);

const DEADLINE: HeaderName = HeaderName::from_static("x-ms");

/// A service whose handler ends when the test lets it.
struct World {
    app: Router,
    began: mpsc::UnboundedReceiver<String>,
    goes_on: Arc<Semaphore>,
}

impl World {
    fn new(refuse_early: bool) -> Self {
        let lock = RequestLockLayer::new(LockClient::in_memory(), "order:{id}").unwrap();
        Self::with(
            lock.name("order").wait(NEVER).refuse_early(refuse_early).deadline_header(DEADLINE),
        )
    }

    fn with(lock: RequestLockLayer) -> Self {
        let (begin, began) = mpsc::unbounded_channel();
        let goes_on = Arc::new(Semaphore::new(0));
        let lets = Arc::clone(&goes_on);
        let handler = put(async move |Path(id): Path<String>| {
            begin.send(id).unwrap();
            lets.acquire().await.unwrap().forget();
            "ran"
        });
        let app = Router::new().route("/{id}", handler).route_layer(lock);
        Self { app, began, goes_on }
    }

    /// A request that waits for at most `limit`.
    async fn waits(&self, path: &str, limit: Duration) -> JoinHandle<(Answer, Duration)> {
        let mut request = request("PUT", path);
        request.headers_mut().insert("x-ms", limit.as_millis().to_string().parse().unwrap());
        let app = self.app.clone();
        let sent = tokio::spawn(async move {
            let began = Instant::now();
            (send(&app, request).await, began.elapsed())
        });
        sleep(QUEUED).await;
        sent
    }

    async fn at_work(&mut self, path: &str) -> JoinHandle<(Answer, Duration)> {
        let request = self.waits(path, NEVER).await;
        self.began.recv().await.unwrap();
        request
    }

    /// Lets `holds` of this length end, one after the other.
    async fn holds(&mut self, holds: usize, time: Duration) {
        for _ in 0..holds {
            let request = self.at_work("/9").await;
            sleep(time).await;
            self.goes_on.add_permits(1);
            assert_eq!(request.await.unwrap().0.text, "ran");
        }
    }

    /// One request at work on this order, and 18 in line that wait for as long as it takes.
    async fn line(&mut self, path: &str) -> Vec<JoinHandle<(Answer, Duration)>> {
        let mut line = vec![self.at_work(path).await];
        for _ in 0..18 {
            line.push(self.waits(path, NEVER).await);
        }
        line
    }
}

fn counted(metrics: &Metrics, outcome: &str) -> f64 {
    metrics.value(&format!(
        r#"lock_requests_total{{policy="order",mode="write",outcome="{outcome}"}}"#
    ))
}

#[tokio::test(start_paused = true)]
async fn the_twentieth_of_a_line_is_refused_while_the_first_still_works() {
    let metrics = Metrics::collect();
    let mut world = World::new(true);
    world.holds(32, SECOND).await;
    let line = world.line("/7").await;

    // Eighteen halves of a second.
    let (answer, waited) = world.waits("/7", SECOND * 8).await.await.unwrap();
    let document = answer.assert_problem(423, "lock-busy");
    assert!(document["retry_after_ms"].as_u64().is_some_and(|ms| ms >= 750), "{document}");
    assert_eq!(waited, Duration::ZERO);
    assert!(!line[0].is_finished() && world.began.try_recv().is_err(), "the first still works");
    assert_eq!((counted(&metrics, "lock-busy-early"), counted(&metrics, "lock-busy")), (1.0, 0.0));

    // One that may succeed waits.
    let (answer, waited) = world.waits("/7", SECOND * 10).await.await.unwrap();
    answer.assert_problem(423, "lock-busy");
    assert_eq!(waited, SECOND * 10);
    assert_eq!((counted(&metrics, "lock-busy-early"), counted(&metrics, "lock-busy")), (1.0, 1.0));

    // So does the second of another line, however short its time is.
    let first = world.at_work("/8").await;
    let second = world.waits("/8", SECOND / 10).await;
    sleep(SECOND / 20).await;
    world.goes_on.add_permits(2 + line.len());
    for done in [first, second].into_iter().chain(line) {
        assert_eq!(done.await.unwrap().0.text, "ran");
    }
}

#[tokio::test(start_paused = true)]
async fn short_holds_end_the_refusals() {
    let mut world = World::new(true);
    world.holds(32, SECOND).await;
    let line = world.line("/7").await;
    assert_eq!(world.waits("/7", SECOND * 2).await.await.unwrap().1, Duration::ZERO);
    world.goes_on.add_permits(line.len());
    for done in line {
        assert_eq!(done.await.unwrap().0.text, "ran");
        world.began.try_recv().ok();
    }
    world.holds(32, SECOND).await;
    // One short hold among the long ones.
    world.holds(1, Duration::from_millis(1)).await;
    let _line = world.line("/7").await;
    assert_eq!(world.waits("/7", SECOND * 2).await.await.unwrap().1, SECOND * 2);
}

#[tokio::test(start_paused = true)]
async fn holds_of_long_ago_say_nothing() {
    let mut world = World::new(true);
    world.holds(32, SECOND).await;
    sleep(SECOND * 601).await;
    let _line = world.line("/7").await;
    assert_eq!(world.waits("/7", SECOND * 2).await.await.unwrap().1, SECOND * 2);
}

/// All of one moment: those that cannot be served in time are refused, and leave the others their turn.
#[tokio::test(start_paused = true)]
async fn of_a_burst_those_that_would_come_too_late_are_refused() {
    let mut world = World::new(true);
    world.holds(32, SECOND).await;
    let first = world.at_work("/7").await;
    let mut burst = Vec::new();
    for _ in 0..20 {
        burst.push(world.waits("/7", SECOND * 21 / 10).await);
    }
    let refused = burst.iter().filter(|request| request.is_finished()).count();
    // Four halves of a second fit into the wait, and not five.
    assert_eq!(refused, 20 - 5);
    world.goes_on.add_permits(1 + burst.len());
    assert_eq!(first.await.unwrap().0.text, "ran");
    let mut ran = 0;
    for request in burst {
        ran += usize::from(request.await.unwrap().0.text == "ran");
    }
    assert_eq!(ran, 5);
}

#[tokio::test(start_paused = true)]
async fn by_default_each_waits() {
    let mut world = World::new(false);
    world.holds(32, SECOND).await;
    let _line = world.line("/7").await;
    assert_eq!(world.waits("/7", SECOND * 2).await.await.unwrap().1, SECOND * 2);
}

/// Clones share what they observe until one of them is configured further.
#[tokio::test(start_paused = true)]
async fn holds_of_another_layer_say_nothing() {
    let slow = RequestLockLayer::new(LockClient::in_memory(), "order:{id}").unwrap();
    let slow = slow.wait(NEVER).refuse_early(true).deadline_header(DEADLINE);
    World::with(slow.clone()).holds(32, SECOND).await;
    let mut shared = World::with(slow.clone());
    let _line = shared.line("/7").await;
    assert_eq!(shared.waits("/7", SECOND * 2).await.await.unwrap().1, Duration::ZERO);
    let mut other = World::with(slow.reserve(Duration::from_millis(1)));
    let _line = other.line("/8").await;
    assert!(other.waits("/8", SECOND * 2).await.await.unwrap().1 >= SECOND);
}
