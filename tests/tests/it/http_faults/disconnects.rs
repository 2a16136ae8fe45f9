//! Clients that leave: waiting, being served, in the middle of a request.

use std::sync::Arc;

use ::http::Method;
use lock_tests::{LIMIT, Wire, bounded, http, on_every_wire};
use tokio::{task::JoinSet, time::timeout};

use crate::http_faults::{
    asking::{head, outcome},
    two_replicas::{TwoReplicas, ms},
};

on_every_wire! {
    (flavor = "multi_thread", worker_threads = 2):
    disconnected_clients_release_their_locks
}

const PATH: &str = "/work/k/4";

async fn disconnected_clients_release_their_locks(wire: Wire) {
    let world = Arc::new(TwoReplicas::new(wire).await);
    let mut clients = JoinSet::new();
    for number in 0..400_u64 {
        let world = Arc::clone(&world);
        // Of five one stays; moments are spread over what the first hundred or so take.
        let (replica, moment) = ((number % 2) as usize, ms(number * 7 % 500));
        clients.spawn(async move {
            match number % 5 {
                0 => {
                    let method = if number % 3 == 0 { Method::GET } else { Method::POST };
                    let reply = http::send(world.request(replica, method, PATH));
                    return Some(outcome(&bounded(LIMIT, reply).await.unwrap()));
                }
                1 | 2 => {
                    let reply = http::send(world.request(replica, Method::POST, PATH));
                    let _ = timeout(moment, reply).await;
                }
                3 => {
                    let mut raw = world.raw(replica).await;
                    raw.send(&head(PATH, 0)).await;
                    tokio::time::sleep(moment).await;
                    raw.reset();
                }
                _ => {
                    // Half a request, and half a body.
                    let mut raw = world.raw(replica).await;
                    let whole = head(PATH, 1_000);
                    let part = if number % 2 == 0 { &whole[..20] } else { whole.as_str() };
                    raw.send(part).await;
                    tokio::time::sleep(moment).await;
                }
            }
            None
        });
    }
    let stayed: Vec<_> = clients.join_all().await.into_iter().flatten().collect();
    let done = stayed.iter().filter(|outcome| **outcome == "done").count();
    println!("{done} of {} that stayed were served", stayed.len());
    assert!(stayed.iter().all(|outcome| ["done", "lock-busy"].contains(outcome)), "{stayed:?}");
    assert!(done > 0, "some must be served, or nothing was tested");
    world.ends_well(&["k"]).await;
}
