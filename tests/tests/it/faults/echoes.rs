//! A server that repeats the arguments of a command that it refuses: the log has no key, and no client.

use lock_tests::{LIMIT, RedisServer, Wire, eventually, on_every_wire};

use crate::faults::{LONG, client, refused_tries::Log};

on_every_wire! {
    without_subscribe_the_log_names_no_key
}

async fn without_subscribe_the_log_names_no_key(wire: Wire) {
    let server = RedisServer::builder().args(["--rename-command", "SUBSCRIBE", ""]).start().await;
    let cli = server.cli().await;
    let (log, _logging) = Log::collect();
    let (here, there) = (client(wire, &server).await, client(wire, &server).await);
    let guard = here.write("order:jane-roe").acquire().await.unwrap();
    let waiter = tokio::spawn(there.write("order:jane-roe").wait(LONG).acquire());
    let warned = async || log.has("cannot subscribe") && log.has("unknown command 'SUBSCRIBE'");
    eventually("the warning", LIMIT, warned).await;
    let names: Vec<String> = cli.query(&["KEYS", "lock_client:*"]).await;
    let clients: Vec<&str> = names.iter().map(|name| &name["lock_client:".len()..]).collect();
    assert_eq!(clients.len(), 2);
    drop(guard);
    drop(waiter.await.unwrap().unwrap());
    // Holders of both clients listen for locks that are taken away.
    for secret in clients.into_iter().chain(["jane-roe"]) {
        assert!(!log.has(secret), "{secret}: {}", log.text());
    }
}
