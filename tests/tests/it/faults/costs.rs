//! What a lock costs Redis, counted in Redis.

use std::time::Duration;

use lock_core::{AcquireError, Mode};
use lock_tests::{Cli, LIMIT, RedisServer, Wire, eventually, on_every_wire};

use crate::faults::{LONG, client, lock_keys, nothing_stays};

on_every_wire! {
    (flavor = "multi_thread", worker_threads = 2):
    a_thousand_waiters_of_one_process_contend_as_one
    local_handoffs_cost_a_tenth_of_a_command_a_turn
    readers_of_one_process_cost_a_twentieth_of_a_command_a_read
    ten_thousand_holds_are_renewed_in_less_than_a_thousand_calls
    a_long_wait_costs_the_same_however_many_processes_wait
}

/// How many steps were sent: scripts, and on the native wire tries at free locks, each of which ends
/// with an MGET.
async fn sent(cli: &Cli) -> u64 {
    cli.calls("evalsha").await + cli.calls("mget").await
}

#[tokio::test]
async fn an_uncontended_lock_is_one_command_and_one_for_its_release() {
    let (server, cli);
    server = RedisServer::start().await;
    cli = server.cli().await;
    let client = client(Wire::Redisson, &server).await;
    for mode in [Mode::Read, Mode::Write] {
        eventually("the client has connected", LIMIT, async || client.health().await.is_ready())
            .await;
        let before = cli.calls("evalsha").await;
        let guard = client.lock(mode, "k").acquire().await.unwrap();
        assert_eq!(cli.calls("evalsha").await - before, 1);
        drop(guard);
        eventually("released", LIMIT, async || lock_keys(&server).await.is_empty()).await;
        assert_eq!(cli.calls("evalsha").await - before, 2);
        assert_eq!(cli.calls("eval").await, 0);
        let subscribed = cli.calls("subscribe").await;
        assert_eq!(subscribed, 0, "without waiters there are no subscribers");
    }
}

async fn a_thousand_waiters_of_one_process_contend_as_one(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(wire, &server).await, client(wire, &server).await);
    let guard = here.write("k").acquire().await.unwrap();
    let before = sent(&cli).await;
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..1000 {
        waiting.spawn(there.write("k").wait(LONG).acquire());
        if number % 100 == 99 {
            tokio::task::yield_now().await;
        }
    }
    eventually("all wait", LIMIT, async || there.health().await.waiting == 999).await;
    eventually("one has tried twice", LIMIT, async || sent(&cli).await - before >= 2).await;
    assert!(sent(&cli).await - before <= 4);
    waiting.abort_all();
    drop(guard);
}

/// How many commands Redis executes for each of so many processes that wait for one key until their wait is
/// over: those of scripts too. Each holds another lock in its scope, so it also looks for deadlocks.
async fn commands_of_a_long_wait(wire: Wire, processes: u64) -> u64 {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let holder = client(wire, &server).await;
    let _held = holder.write("k").acquire().await.unwrap();
    let mut waiters = Vec::new();
    for number in 0..processes {
        let client = client(wire, &server).await;
        let scope = client.scope();
        let own = scope.write(format!("own:{number}")).acquire().await.unwrap();
        waiters.push((client, scope, own));
    }
    cli.reset_stats().await;
    let mut waits = tokio::task::JoinSet::new();
    for (client, scope, own) in waiters {
        waits.spawn(async move {
            let waited = scope.write("k").wait(Duration::from_millis(1_800)).acquire().await;
            let Err(AcquireError::Busy(busy)) = waited else { panic!("{waited:?}") };
            assert!(busy.holder().is_some(), "it has looked which process holds the lock");
            (client, scope, own)
        });
    }
    let _kept = waits.join_all().await;
    cli.command_counts().await.values().sum::<u64>() / processes
}

async fn a_long_wait_costs_the_same_however_many_processes_wait(wire: Wire) {
    let few = commands_of_a_long_wait(wire, 20).await;
    // On the native wire the line of sixty is in the lock's value too.
    let many = commands_of_a_long_wait(wire, 60).await;
    println!("{few} commands for each of 20, {many} for each of 60");
    assert!(many < few * 3 / 2, "{few} commands for each of 20, {many} for each of 60");
}

async fn local_handoffs_cost_a_tenth_of_a_command_a_turn(wire: Wire) {
    const TURNS: u64 = 50;
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let client = client(wire, &server).await;
    let mut tasks = tokio::task::JoinSet::new();
    let before = sent(&cli).await;
    for _ in 0..16 {
        let client = client.clone();
        tasks.spawn(async move {
            for _ in 0..TURNS {
                let guard = client.write("k").wait(LONG).acquire().await.unwrap();
                tokio::task::yield_now().await;
                drop(guard);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    eventually("released", LIMIT, async || lock_keys(&server).await.is_empty()).await;
    let (calls, turns) = (sent(&cli).await - before, 16 * TURNS);
    assert!(calls * 10 <= turns, "{calls} commands for {turns} turns");
}

async fn readers_of_one_process_cost_a_twentieth_of_a_command_a_read(wire: Wire) {
    const READS: u64 = 50;
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let client = client(wire, &server).await;
    let mut tasks = tokio::task::JoinSet::new();
    let before = sent(&cli).await;
    for _ in 0..64 {
        let client = client.clone();
        tasks.spawn(async move {
            for _ in 0..READS {
                let guard = client.read("k").wait(LONG).acquire().await.unwrap();
                tokio::task::yield_now().await;
                drop(guard);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    eventually("released", LIMIT, async || lock_keys(&server).await.is_empty()).await;
    let (calls, reads) = (sent(&cli).await - before, 64 * READS);
    assert!(calls * 20 <= reads, "{calls} commands for {reads} reads");
}

async fn ten_thousand_holds_are_renewed_in_less_than_a_thousand_calls(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let client = wire.builder().command_timeout(LIMIT).connect(&server.url()).await.unwrap();
    let lease = Duration::from_secs(15);
    let mut guards = Vec::new();
    for chunk in 0..100 {
        let batch = (0..100).map(|number| {
            let mode = if number % 2 == 0 { Mode::Read } else { Mode::Write };
            client.lock(mode, format!("k:{chunk}:{number}")).lease(lease).acquire()
        });
        guards.extend(futures_util::future::try_join_all(batch).await.unwrap());
    }
    // One period is a third of the lease. What is counted from a quiet moment on is renewals.
    let before = sent(&cli).await;
    tokio::time::sleep(lease / 3).await;
    let calls = sent(&cli).await - before;
    println!("10,000 holds were renewed in {calls} calls in one period");
    // A command renews up to 32 holds, of one mode: 313 at least.
    assert!(calls < 1_000, "{calls} calls for 10,000 holds in one period");
    // Until what was granted at first has ended for all of them.
    tokio::time::sleep(lease * 2 / 3).await;
    let lost = guards.iter().filter(|guard| !guard.is_held()).count();
    assert_eq!(lost, 0);
    drop(guards);
    nothing_stays(&server, &[&client]).await;
}
