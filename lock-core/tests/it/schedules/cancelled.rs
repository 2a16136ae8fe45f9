//! Every public async operation, dropped after every number of polls, with every fate of its
//! commands: everything ends free, other clients proceed, and guards are as documented.

mod acquiring;
mod changing;
mod clients;
mod connecting;
mod holding;
mod looking;
mod majority;

use std::{future::Future, sync::Arc};

use futures_util::future::LocalBoxFuture;
use lock_conformance::Delivery;
use lock_core::Kind;

use crate::schedules::two_clients::{KEYS, LEASE, TwoClients, ms};

/// One way to use an operation. Returns whether the operation had finished.
pub(crate) struct Case {
    /// As `file.rs::function`.
    pub(crate) operation: &'static str,
    name: String,
    run: Box<dyn Fn(Arc<TwoClients>, usize) -> LocalBoxFuture<'static, bool>>,
}

fn case<F: Future<Output = bool> + 'static>(
    operation: &'static str,
    name: impl Into<String>,
    run: impl Fn(Arc<TwoClients>, usize) -> F + 'static,
) -> Case {
    let run = Box::new(move |world, polls| Box::pin(run(world, polls)) as LocalBoxFuture<'_, _>);
    Case { operation, name: name.into(), run }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = acquiring::cases();
    cases.extend(changing::cases());
    cases.extend(clients::cases());
    cases.extend(holding::cases());
    cases.extend(looking::cases());
    cases.extend(majority::cases());
    cases
}

/// Operations that do not use a client of the in-memory store: [`connecting`] has their tests.
pub(crate) const CONNECTING: [&str; 3] = [
    "client/builder/connect.rs::connect",
    "client/builder/redis.rs::red_lock",
    "client/mod.rs::connect",
];

/// There and back.
const ROUND_TRIP: u64 = 10;

/// The possible fates of a step, and whether the link was good all the time.
const FATES: [(&str, Delivery, bool); 6] = [
    ("answered at once", Delivery::AT_ONCE, true),
    ("answered in time", delivery(Some(5), Some(ROUND_TRIP)), true),
    ("taken and not answered", delivery(Some(5), None), false),
    ("taken after the client has given up", delivery(Some(1_200), None), false),
    ("never taken", delivery(None, None), false),
    ("refused", delivery(None, Some(5)), false),
];

const fn delivery(taken: Option<u64>, answered: Option<u64>) -> Delivery {
    const fn after(count: Option<u64>) -> Option<std::time::Duration> {
        match count {
            Some(count) => Some(ms(count)),
            None => None,
        }
    }
    Delivery { taken: after(taken), answered: after(answered) }
}

/// More polls than any operation here needs.
const MOST_POLLS: usize = 2_000;

#[tokio::test(start_paused = true)]
async fn every_operation_dropped_after_every_poll_leaves_nothing() {
    let (mut drops, mut deepest) = (0, 0);
    for case in cases() {
        for (becomes, delivery, good) in FATES {
            for polls in 0.. {
                let what = format!(
                    "{} ({}) dropped after {polls} polls, {becomes}",
                    case.operation, case.name
                );
                assert!(polls < MOST_POLLS, "{what}: without end");
                let world = Arc::new(TwoClients::new(delivery));
                let over = (case.run)(Arc::clone(&world), polls).await;
                world.end();
                let took = world.free(&what).await;
                let limit = if good { ms(2 * ROUND_TRIP) } else { LEASE };
                assert!(took <= limit, "{what}: free after {took:?}");
                others_get_on(&world, &what).await;
                drops += 1;
                deepest = deepest.max(polls);
                if over {
                    break;
                }
            }
        }
    }
    println!("{drops} times, after up to {deepest} polls");
    assert!(deepest > 5, "something must be polled more than once");
}

/// An acquisition of any of the keys now, without a wait, succeeds.
async fn others_get_on(world: &TwoClients, what: &str) {
    let draining = world.here.health().await.draining;
    let clients = [&world.there, &world.here].into_iter().take(if draining { 1 } else { 2 });
    for (client, key) in clients.flat_map(|client| KEYS.map(|key| (client, key))) {
        let got = match client.inspect(key).await.unwrap().kind {
            Some(Kind::Semaphore) => {
                client.semaphore(key, 1).permit().try_acquire().await.map(drop)
            }
            kind => {
                let lock = client.write(key).kind(kind.unwrap_or_default());
                lock.try_acquire().await.map(drop)
            }
        };
        got.unwrap_or_else(|why| panic!("{what}: {why}"));
        tokio::time::sleep(ms(1)).await;
    }
}
