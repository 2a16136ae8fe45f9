//! Two locks at once, requested in opposite orders.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_tests::{RedisServer, Wire, bounded, on_every_wire};
use tokio::{task::JoinSet, time::sleep};

use crate::contention::crowd::{Crowd, LONG};

on_every_wire! {
    a_thousand_turns_of_two_processes_in_opposite_orders_finish
    over_two_servers_never_both_and_all_come_to_their_turns
}

async fn a_thousand_turns_of_two_processes_in_opposite_orders_finish(wire: Wire) {
    let crowd = Crowd::start(wire, 2).await;
    crowd.members[0].say("both a b 1000 counter");
    crowd.members[1].say("both b a 1000 counter");
    crowd.all_say("done").await;
    assert_eq!(crowd.cli.string("counter").await.unwrap(), "2000");
}

/// Members on two servers, taken in opposite orders by the clients of four processes.
async fn over_two_servers_never_both_and_all_come_to_their_turns(wire: Wire) {
    const TURNS: usize = 50;
    let (one, other) = (RedisServer::start().await, RedisServer::start().await);
    let inside = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for at in 0..4 {
        let mut clients = Vec::new();
        for server in [&one, &other] {
            clients.push(wire.builder().connect(&server.url()).await.unwrap());
        }
        if at % 2 == 1 {
            clients.reverse();
        }
        let inside = Arc::clone(&inside);
        tasks.spawn(async move {
            for _ in 0..TURNS {
                let members = clients.iter().map(|client| client.write("k"));
                let guard = clients[0].multi_lock(members).wait(LONG).acquire().await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "alone");
                sleep(Duration::from_millis(1)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
                guard.release().await.unwrap();
            }
        });
    }
    bounded(LONG, async { while tasks.join_next().await.transpose().unwrap().is_some() {} }).await;
    for server in [&one, &other] {
        let looks = wire.builder().connect(&server.url()).await.unwrap();
        assert!(looks.inspect("k").await.unwrap().holders.is_empty());
    }
}
