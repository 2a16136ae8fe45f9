//! After an outage: service resumes under load, without a storm, and ends on a stop signal.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_tests::{Cli, Direction, LIMIT, RedisServer, Wire, bounded, eventually, on_every_wire};
use tokio::{task::JoinSet, time::sleep};

use crate::faults::{client, client_at};

on_every_wire! {
    impatient_callers_on_a_slow_link_do_not_keep_it_down
    a_server_that_refuses_writes_is_not_stormed
    shutdown_closes_what_is_being_connected
    a_patient_client_is_shut_down_by_its_deadline_all_the_same
    everything_ends_with_the_last_of_a_client
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

async fn connections(cli: &Cli) -> u64 {
    let stats: String = cli.query(&["INFO", "stats"]).await;
    let count = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    count.unwrap().trim().parse().unwrap()
}

async fn impatient_callers_on_a_slow_link_do_not_keep_it_down(wire: Wire) {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let client = client_at(wire, &server.url_through(&proxy)).await;
    proxy.delay(Direction::Both, ms(50));
    let granted = Arc::new(AtomicUsize::new(0));
    let mut callers = JoinSet::new();
    for caller in 0..50_u64 {
        let (client, granted) = (client.clone(), Arc::clone(&granted));
        callers.spawn(async move {
            sleep(ms(caller * 7 % 500)).await;
            loop {
                if client.write(format!("k:{caller}")).acquire().await.is_ok() {
                    granted.fetch_add(1, Ordering::SeqCst);
                }
                sleep(ms(300)).await;
            }
        });
    }
    eventually("it works", LIMIT, async || granted.load(Ordering::SeqCst) > 50).await;
    proxy.refuse();
    proxy.cut().await;
    sleep(ms(1_500)).await;
    granted.store(0, Ordering::SeqCst);
    proxy.pass();
    proxy.delay(Direction::Both, ms(50));
    eventually("it works again", LIMIT, async || granted.load(Ordering::SeqCst) > 50).await;
}

async fn a_server_that_refuses_writes_is_not_stormed(wire: Wire) {
    let (server, primary) = (RedisServer::start().await, RedisServer::start().await);
    let cli = server.cli().await;
    let client = client(wire, &server).await;
    let port = primary.port().to_string();
    let _: String = cli.query(&["REPLICAOF", "127.0.0.1", &port]).await;
    let mut callers = JoinSet::new();
    for caller in 0..20 {
        let client = client.clone();
        callers.spawn(async move {
            loop {
                let _ = client.write(format!("k:{caller}")).acquire().await;
            }
        });
    }
    let before = connections(&cli).await;
    sleep(ms(3_000)).await;
    let opened = connections(&cli).await - before;
    assert!(opened < 60, "{opened} connections in three seconds");
}

async fn shutdown_closes_what_is_being_connected(wire: Wire) {
    for moment in [0, 30, 60, 90, 120] {
        let server = RedisServer::start().await;
        let proxy = server.proxy().await;
        let client = client_at(wire, &server.url_through(&proxy)).await;
        proxy.delay(Direction::Both, ms(30));
        proxy.cut().await;
        sleep(ms(moment)).await;
        let _ = client.shutdown(ms(100)).await;
        eventually("no connection is left", LIMIT, async || proxy.connections() == 0).await;
        sleep(ms(200)).await;
        assert_eq!(proxy.connections(), 0, "and none comes back");
    }
}

async fn a_patient_client_is_shut_down_by_its_deadline_all_the_same(wire: Wire) {
    let server = RedisServer::start().await;
    let builder = wire.builder().command_timeout(LIMIT * 100);
    let client = builder.connect(&server.url()).await.unwrap();
    server.pause();
    bounded(LIMIT, client.shutdown(ms(100))).await.unwrap();
}

async fn everything_ends_with_the_last_of_a_client(wire: Wire) {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    for round in 0..3 {
        let client = client_at(wire, &server.url_through(&proxy)).await;
        let write = client.write("k").acquire().await.unwrap();
        let scope = client.scope();
        let read = scope.read("r").acquire().await.unwrap();
        if round == 1 {
            proxy.cut().await;
        }
        drop((client, scope));
        drop((write, read));
        eventually("its connections are closed", LIMIT, async || proxy.connections() == 0).await;
    }
}
