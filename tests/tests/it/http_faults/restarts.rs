//! A graceful restart of each replica in turn, under load.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ::http::Method;
use lock_tests::{LIMIT, Wire, bounded, http, on_every_wire};
use tokio::{sync::RwLock, task::JoinSet};

use crate::http_faults::{
    asking::{not_begun, outcome},
    two_replicas::{TwoReplicas, ms},
};

on_every_wire! {
    (flavor = "multi_thread", worker_threads = 2):
    rolling_restarts_of_replicas_lose_no_request_or_lock
}

async fn rolling_restarts_of_replicas_lose_no_request_or_lock(wire: Wire) {
    let world = Arc::new(RwLock::new(TwoReplicas::new(wire).await));
    let ends = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for number in 0..10_usize {
        let (world, ends) = (Arc::clone(&world), Arc::clone(&ends));
        clients.spawn(async move {
            let (mut outcomes, mut turn) = (Vec::new(), number);
            while !ends.load(Ordering::Relaxed) {
                turn += 1;
                let method = if turn % 4 == 0 { Method::GET } else { Method::POST };
                let path = format!("/work/{}/3", ["k", "other"][turn / 2 % 2]);
                let request = world.read().await.request(turn % 2, method, &path);
                let id = request.headers()["x-request-id"].to_str().unwrap().to_owned();
                outcomes.push(match bounded(LIMIT, http::send(request)).await {
                    Ok(reply) => outcome(&reply),
                    Err(error) => {
                        let world = world.read().await;
                        assert!(not_begun(&world, &id, &error), "{id} was begun: {error}");
                        "no server"
                    }
                });
            }
            outcomes
        });
    }
    for replica in [0, 1, 0, 1] {
        tokio::time::sleep(ms(300)).await;
        let port = {
            let world = world.read().await;
            let replica = &world.replicas[replica];
            replica.process.terminate();
            replica.process.line("shut down", LIMIT).await;
            assert!(replica.process.exited(LIMIT).await.success());
            replica.port
        };
        let fresh = world.read().await.start(port).await;
        world.write().await.replicas[replica] = fresh;
    }
    tokio::time::sleep(ms(300)).await;
    ends.store(true, Ordering::Relaxed);
    let outcomes = clients.join_all().await.concat();
    let count = |name: &str| outcomes.iter().filter(|outcome| **outcome == name).count();
    let (done, refused) = (count("done"), count("no server"));
    println!("{done} served, {refused} found no server, of {}", outcomes.len());
    assert!(done > 0 && refused > 0, "the load must notice that replicas are restarted");
    world.read().await.ends_well(&["k", "other"]).await;
}
