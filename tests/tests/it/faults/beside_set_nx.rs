//! Locks that are shared with programs that take them by `SET NX PX`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use lock_core::{AcquireError, InspectError, Kind, LockClient, LockClientBuilder, Mode};
use lock_tests::{Cli, LIMIT, RedisServer, bounded, eventually};
use tokio::{task::JoinSet, time::Instant};

use crate::faults::{LONG, NEVER};

const KEY: &str = "lock:k";

fn beside() -> LockClientBuilder {
    LockClient::builder().lease(NEVER).beside_set_nx()
}

/// A lock as it is written by hand everywhere.
#[derive(Clone)]
struct HandRolled {
    redis: redis::aio::MultiplexedConnection,
    text: String,
}

impl HandRolled {
    async fn new(server: &RedisServer, text: &str) -> Self {
        let client = redis::Client::open(server.url()).unwrap();
        let redis = client.get_multiplexed_async_connection().await.unwrap();
        Self { redis, text: text.to_owned() }
    }

    async fn try_take(&mut self) -> bool {
        let mut set = redis::cmd("SET");
        set.arg(KEY).arg(&self.text).arg("NX").arg("PX").arg(600_000);
        let taken: Option<String> = set.query_async(&mut self.redis).await.unwrap();
        taken.is_some()
    }

    /// Tries as often as such programs do.
    async fn take(&mut self) {
        while !self.try_take().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn give_back(&mut self) {
        let script = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
        let script = redis::Script::new(script);
        let call = script.key(KEY).arg(&self.text).invoke_async::<u64>(&mut self.redis).await;
        assert_eq!(call.unwrap(), 1, "its text was touched");
    }
}

/// Whatever our client does, a foreign text stays as it is.
async fn is_untouched(cli: &Cli, text: &str) {
    assert_eq!(cli.string(KEY).await.as_deref(), Some(text));
}

#[tokio::test]
async fn a_foreign_text_is_a_holder_and_is_never_touched() {
    let server = RedisServer::start().await;
    let (client, cli) = (beside().connect(&server.url()).await.unwrap(), server.cli().await);
    let mut other = HandRolled::new(&server, "theirs").await;
    for kind in [Kind::Reentrant, Kind::Fair, Kind::Fenced, Kind::ReadWrite, Kind::FairReadWrite] {
        assert!(other.try_take().await);
        let refused = client.write("k").kind(kind).try_acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::Busy(_)), "{kind}: {refused}");
        // A waiter comes, stands in line, and gives up.
        let waits = client.write("k").kind(kind).wait(Duration::from_millis(150)).acquire();
        assert!(matches!(waits.await.unwrap_err(), AcquireError::Busy(_)), "{kind}");
        is_untouched(&cli, "theirs").await;
        let waits = client.write("k").kind(kind).wait(LONG).acquire();
        let ((), held) = tokio::join!(other.give_back(), waits);
        let held = held.unwrap();
        assert!(!other.try_take().await, "{kind}: held by both");
        held.release().await.unwrap();
    }
}

#[tokio::test]
async fn without_a_ttl_or_without_the_option_it_is_a_wrong_kind() {
    let server = RedisServer::start().await;
    let (with, cli) = (beside().connect(&server.url()).await.unwrap(), server.cli().await);
    let without = LockClient::builder().connect(&server.url()).await.unwrap();
    for (client, set) in
        [(&with, &["SET", KEY, "t"][..]), (&without, &["SET", KEY, "t", "PX", "600000"])]
    {
        cli.query::<redis::Value>(set).await;
        let refused = client.write("k").try_acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::WrongKind(_)), "{set:?}: {refused}");
        let seen = client.inspect("k").await;
        assert!(matches!(seen, Err(InspectError::WrongKind(_))), "{set:?}: {seen:?}");
        let forced = client.force_release("k").await;
        assert!(matches!(forced, Err(InspectError::WrongKind(_))), "{set:?}: {forced:?}");
        is_untouched(&cli, "t").await;
    }
    let permit = with.semaphore("k", 1).permit();
    cli.query::<redis::Value>(&["SET", KEY, "t", "PX", "600000"]).await;
    let refused = permit.try_acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::WrongKind(_)), "a semaphore: {refused}");
}

#[tokio::test]
async fn an_operator_sees_a_foreign_holder_and_can_remove_it() {
    let server = RedisServer::start().await;
    let (client, cli) = (beside().connect(&server.url()).await.unwrap(), server.cli().await);
    let text: &[u8] = b"host\xff:1\n";
    let mut set = redis::cmd("SET");
    set.arg(KEY).arg(text).arg("PX").arg(600_000);
    let redis = redis::Client::open(server.url()).unwrap();
    let mut redis = redis.get_multiplexed_async_connection().await.unwrap();
    set.query_async::<()>(&mut redis).await.unwrap();

    let waits = tokio::spawn(client.write("k").wait(LONG).acquire().into_future());
    let seen = async || client.inspect("k").await.unwrap();
    eventually("a waiter in line", LIMIT, async || seen().await.waiters.len() == 1).await;
    let seen = seen().await;
    assert_eq!(seen.mode, Some(Mode::Write));
    assert_eq!(seen.holders[0].owner, "host?:1?");
    assert!(seen.remaining.unwrap() > Duration::from_secs(500));

    let forced = client.force_release("k").await.unwrap();
    assert!(forced.was_held);
    let held = bounded(LIMIT, waits).await.unwrap().unwrap();
    assert!(held.fencing_token() > forced.fencing_token.unwrap());
    held.release().await.unwrap();
    eventually("nothing but the counter is left", LIMIT, async || {
        cli.keys().await.iter().all(|key| !key.contains("{lock:k}") && key != KEY)
    })
    .await;
}

/// What both sides do inside the lock.
#[derive(Default)]
struct Room {
    inside: AtomicBool,
    ours: AtomicU64,
    theirs: AtomicU64,
}

impl Room {
    /// A critical section that is not atomic: two at once lose one.
    async fn visit(&self, turns: &AtomicU64) {
        assert!(!self.inside.swap(true, Ordering::SeqCst), "two holders");
        let before = turns.load(Ordering::SeqCst);
        tokio::task::yield_now().await;
        turns.store(before + 1, Ordering::SeqCst);
        self.inside.store(false, Ordering::SeqCst);
    }

    fn total(&self) -> u64 {
        self.ours.load(Ordering::SeqCst) + self.theirs.load(Ordering::SeqCst)
    }
}

/// Two clients of ours and two by hand, all of which contend until 2,000 sections are done.
#[tokio::test]
async fn mixed_critical_sections_lose_nothing_and_each_side_gets_its_turns() {
    const SECTIONS: u64 = 2_000;
    let server = RedisServer::start().await;
    let room = Arc::new(Room::default());
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..2 {
        let client = beside().connect(&server.url()).await.unwrap();
        let room = Arc::clone(&room);
        tasks.spawn(async move {
            let (mut turns, mut last) = (0, None);
            while room.total() < SECTIONS {
                let held = client.write("k").wait(LIMIT).acquire().await.unwrap();
                assert!(Some(held.fencing_token()) > last);
                last = Some(held.fencing_token());
                room.visit(&room.ours).await;
                held.release().await.unwrap();
                turns += 1;
            }
            turns
        });
    }
    for number in 0..2 {
        let mut other = HandRolled::new(&server, &format!("theirs:{number}")).await;
        let room = Arc::clone(&room);
        tasks.spawn(async move {
            let mut turns = 0;
            while room.total() < SECTIONS {
                other.take().await;
                room.visit(&room.theirs).await;
                other.give_back().await;
                turns += 1;
            }
            turns
        });
    }
    let turns: Vec<u64> = bounded(4 * LIMIT, tasks.join_all()).await;
    assert_eq!(turns.iter().sum::<u64>(), room.total(), "a section was lost");
    // A pause at least every second, of which the first is after one.
    let pauses = started.elapsed().as_secs().saturating_sub(2) / 2;
    let theirs = room.theirs.load(Ordering::SeqCst);
    assert!(theirs >= pauses, "{theirs} turns in {:?}", started.elapsed());
    assert!(room.ours.load(Ordering::SeqCst) > 0, "{turns:?}");
    println!("{turns:?} in {:?}", started.elapsed());
}

/// A waiter by hand beside a line of ours that is never empty.
#[tokio::test]
async fn a_hand_rolled_waiter_gets_in_though_ours_never_stop() {
    let server = RedisServer::start().await;
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for _ in 0..3 {
        let (client, over) = (beside().connect(&server.url()).await.unwrap(), Arc::clone(&over));
        tasks.spawn(async move {
            while !over.load(Ordering::SeqCst) {
                let held = client.write("k").wait(LIMIT).acquire().await.unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
                held.release().await.unwrap();
            }
        });
    }
    let mut other = HandRolled::new(&server, "theirs").await;
    for _ in 0..5 {
        bounded(LIMIT, other.take()).await;
        other.give_back().await;
    }
    over.store(true, Ordering::SeqCst);
    bounded(LIMIT, tasks.join_all()).await;
}

#[tokio::test]
async fn redissons_wire_cannot_be_shared_so() {
    let refused = LockClient::builder().redisson().beside_set_nx().connect("redis://127.0.0.1:1");
    let refused = refused.await.unwrap_err().to_string();
    assert!(refused.contains("beside_set_nx()"), "{refused}");
}
