//! A false server: whatever a client is answered, it neither panics nor hangs, and its memory is bounded.

use std::{env, net::SocketAddr, time::Duration};

use lock_core::LockClient;
use lock_tests::{
    Authority, LIMIT, MutatingLink, Process, RedisCluster, RedisServer, Wire, ZooKeeperServer,
    bounded, connected, eventually, on_every_wire,
};

/// Answers that are changed, for each unit of `MUTATED_REPLIES`: 70 is the long form.
const CHANGED: u64 = 1_500;
/// A client that lost an answer waits for a second until its connection is given up.
const CHANGED_ON_ZOOKEEPER: u64 = 60;
/// Of both clients and runtime; without the bounds one answer takes gigabytes.
const MOST_MEMORY_KB: u64 = 400 * 1_024;

on_every_wire! {
    redis
    redis_over_tls
    a_cluster
}

async fn redis(wire: Wire) {
    let server = RedisServer::start().await;
    let link = MutatingLink::start(server.addr(), 1).await;
    let url = format!("redis://{}", link.addr());
    mislead(&[link], CHANGED, &[("LOCK_URL", &url), ("WIRE", wire.name())]).await;
    let url = server.url();
    // Over a server that is honest again.
    let client = connected(wire.builder(), &url).await;
    bounded(LIMIT, client.write("free").acquire()).await.unwrap().release().await.unwrap();
}

async fn redis_over_tls(wire: Wire) {
    let (server, authority) = (RedisServer::start().await, Authority::new());
    let link = MutatingLink::start_tls(server.addr(), 2, &authority.identity()).await;
    let url = format!("rediss://{}", link.addr());
    let pem = authority.certificate();
    let settings = [("LOCK_URL", &*url), ("WIRE", wire.name()), ("AUTHORITY", &pem)];
    mislead(&[link], CHANGED / 3, &settings).await;
    let client = connected(wire.builder(), &server.url()).await;
    bounded(LIMIT, client.write("free").acquire()).await.unwrap().release().await.unwrap();
}

/// Its nodes tell where the others are, too.
async fn a_cluster(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let (mut links, mut ports) = (Vec::new(), Vec::new());
    for (node, seed) in cluster.nodes().iter().zip(3..) {
        let link = MutatingLink::start(node.addr(), seed).await;
        ports.push(format!("{}={}", node.port(), link.addr().port()));
        links.push(link);
    }
    let addrs: Vec<_> = links.iter().map(|link| link.addr().to_string()).collect();
    let url = format!("redis+cluster://{}", addrs.join(","));
    let ports = ports.join(",");
    let settings = [("LOCK_URL", &*url), ("WIRE", wire.name()), ("PORTS", &ports)];
    mislead(&links, CHANGED / 3, &settings).await;
    let client = connected(wire.builder(), &cluster.url()).await;
    bounded(LIMIT, client.write("free").acquire()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn zookeeper() {
    let server = ZooKeeperServer::start().await;
    let addr: SocketAddr = server.addr();
    let link = MutatingLink::start(addr, 1).await;
    let url = format!("zookeeper://{}", link.addr());
    mislead(&[link], CHANGED_ON_ZOOKEEPER, &[("LOCK_URL", &url)]).await;
    let url = server.url();
    let builder = LockClient::builder().lease(Duration::from_secs(3)).connect_timeout(LIMIT);
    let client = connected(builder, &url).await;
    bounded(LIMIT, client.write("free").acquire()).await.unwrap().release().await.unwrap();
}

async fn mislead(links: &[MutatingLink], changed: u64, settings: &[(&str, &str)]) {
    let times = env::var("MUTATED_REPLIES").map_or(1, |times| times.parse().expect("a number"));
    let changed = changed * times;
    let mut process = Process::builder(env!("CARGO_BIN_EXE_misled"));
    for (name, value) in settings {
        process = process.env(name, value);
    }
    let process = process.hears().start();
    process.line("ready", LIMIT).await;
    let limit = LIMIT * 3 * u32::try_from(times).expect("a small number");
    let so_far = || links.iter().map(MutatingLink::changed).sum::<u64>();
    let done = async || so_far() >= changed || !process.is_running();
    eventually("changed answers", limit, done).await;
    links.iter().for_each(MutatingLink::be_honest);
    process.say("end");
    let status = process.exited(LIMIT).await;
    assert!(status.success(), "{status}: {}", process.output());
    let peak = process.line("peak ", LIMIT).await;
    let peak: u64 = peak["peak ".len()..].parse().expect("a number");
    println!("{} answers were changed; at most {peak} kB", so_far());
    assert!(peak < MOST_MEMORY_KB, "{peak} kB");
}
