//! One lock used by clients of both wires, as during a change from one to the other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use lock_core::{AcquireError, InspectError, Kind, LockClient, LockClientBuilder, Mode};
use lock_tests::{LIMIT, RedisServer, Wire, bounded};
use tokio::task::JoinSet;

use crate::faults::{LONG, NEVER};

const KINDS: [Kind; 6] = [
    Kind::Reentrant,
    Kind::NonReentrant,
    Kind::Fenced,
    Kind::Fair,
    Kind::ReadWrite,
    Kind::FairReadWrite,
];

fn native() -> LockClientBuilder {
    LockClient::builder().lease(NEVER)
}

fn redissons() -> LockClientBuilder {
    Wire::Redisson.builder().lease(NEVER)
}

/// A client of each wire, each of them first once.
async fn pairs(server: &RedisServer) -> [[LockClient; 2]; 2] {
    let native = native().connect(&server.url()).await.unwrap();
    let redissons = redissons().connect(&server.url()).await.unwrap();
    [[native.clone(), redissons.clone()], [redissons, native]]
}

fn is_read_write(kind: Kind) -> bool {
    matches!(kind, Kind::ReadWrite | Kind::FairReadWrite)
}

#[tokio::test]
async fn the_other_wires_lock_is_busy() {
    let server = RedisServer::start().await;
    for [holder, other] in pairs(&server).await {
        for kind in KINDS {
            let held = holder.write("k").kind(kind).acquire().await.unwrap();
            let refused = other.write("k").kind(kind).try_acquire().await.unwrap_err();
            assert!(matches!(refused, AcquireError::Busy(_)), "{kind}: {refused}");
            if is_read_write(kind) {
                let refused = other.read("k").kind(kind).try_acquire().await.unwrap_err();
                assert!(matches!(refused, AcquireError::Busy(_)), "{kind}: {refused}");
            }
            assert!(held.is_held());
            held.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn readers_of_the_other_wire_keep_out_readers_too() {
    let server = RedisServer::start().await;
    let (first, second) = (pairs(&server).await, pairs(&server).await);
    for ([holder, other], [second_holder, _]) in first.into_iter().zip(second) {
        for kind in [Kind::ReadWrite, Kind::FairReadWrite] {
            let held = [
                holder.read("k").kind(kind).acquire().await.unwrap(),
                second_holder.read("k").kind(kind).acquire().await.unwrap(),
            ];
            let refused = other.read("k").kind(kind).try_acquire().await.unwrap_err();
            assert!(matches!(refused, AcquireError::Busy(_)), "{kind}: {refused}");
            for held in held {
                held.release().await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn another_kind_of_the_other_wire_is_wrong() {
    let server = RedisServer::start().await;
    for [holder, other] in pairs(&server).await {
        for (kind, wrong) in [
            (Kind::Reentrant, Kind::ReadWrite),
            (Kind::ReadWrite, Kind::Reentrant),
            (Kind::Fair, Kind::FairReadWrite),
            (Kind::FairReadWrite, Kind::Fair),
        ] {
            let held = holder.write("k").kind(kind).acquire().await.unwrap();
            let refused = other.write("k").kind(wrong).try_acquire().await.unwrap_err();
            assert!(matches!(refused, AcquireError::WrongKind(_)), "{kind}, {wrong}: {refused}");
            held.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_semaphore_of_the_other_wire_is_refused() {
    let server = RedisServer::start().await;
    for ([holder, other], key) in pairs(&server).await.into_iter().zip(["one", "two"]) {
        let _held = holder.semaphore(key, 2).permit().acquire().await.unwrap();
        let refused = other.semaphore(key, 2).permit().try_acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::WrongKind(_)), "{refused}");
    }
}

#[tokio::test]
async fn a_waiter_gets_the_lock_when_the_other_wire_releases_it() {
    let server = RedisServer::start().await;
    for [holder, other] in pairs(&server).await {
        for kind in KINDS {
            let held = holder.write("k").kind(kind).acquire().await.unwrap();
            let first = held.fencing_token();
            let waits = other.write("k").kind(kind).wait(LONG).acquire();
            let (released, granted) = tokio::join!(held.release(), waits);
            released.unwrap();
            let granted = granted.unwrap();
            assert!(granted.fencing_token() > first, "{kind}");
            granted.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn tokens_grow_from_wire_to_wire() {
    let server = RedisServer::start().await;
    let [clients, _] = pairs(&server).await;
    for kind in KINDS {
        let mut last = 0;
        for turn in 0..40 {
            let held = clients[turn % 2].write("k").kind(kind).wait(LONG).acquire().await.unwrap();
            let token = held.fencing_token().get();
            assert!(token > last, "{kind}, turn {turn}: {token} after {last}");
            last = token;
            held.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_operator_sees_locks_of_both_wires() {
    let server = RedisServer::start().await;
    for [holder, operator] in pairs(&server).await {
        for kind in KINDS {
            let held = holder.write("k").kind(kind).acquire().await.unwrap();
            let seen = operator.inspect("k").await.unwrap();
            assert_eq!((seen.mode, seen.holders.len()), (Some(Mode::Write), 1), "{kind}");
            assert_eq!(operator.list("", 10).await.unwrap().keys.len(), 1, "{kind}");
            assert!(operator.is_locked("k", Mode::Write).await.unwrap(), "{kind}");

            let requested = held.release_requested();
            assert_eq!(operator.request_release("k").await.unwrap(), 1, "{kind}");
            bounded(LIMIT, requested).await;

            let forced = operator.force_release("k").await.unwrap();
            assert!(forced.was_held, "{kind}");
            assert!(forced.fencing_token.unwrap() > held.fencing_token(), "{kind}");
            assert!(!operator.is_locked("k", Mode::Write).await.unwrap(), "{kind}");
        }
    }
    let cli = server.cli().await;
    cli.query::<redis::Value>(&["RPUSH", "lock:k", "mine"]).await;
    for [operator, _] in pairs(&server).await {
        let foreign = operator.inspect("k").await;
        assert!(matches!(foreign, Err(InspectError::WrongKind(_))), "{foreign:?}");
    }
}

/// What the fleet does under one lock.
#[derive(Default)]
struct Room {
    inside: AtomicBool,
    last_token: AtomicU64,
}

/// Half of the fleet is on each wire, two waiters of each client contend, and no task stops before all
/// have had their turns.
#[tokio::test]
async fn half_a_fleet_on_each_wire_shares_a_lock() {
    const TURNS: u64 = 12;
    let server = RedisServer::start().await;
    let mut fleet = Vec::new();
    for _ in 0..2 {
        fleet.push(native().connect(&server.url()).await.unwrap());
        fleet.push(redissons().connect(&server.url()).await.unwrap());
    }
    let mut tasks = JoinSet::new();
    for kind in KINDS {
        let room = Arc::new(Room::default());
        let left = Arc::new(AtomicU64::new(fleet.len() as u64));
        for client in &fleet {
            let (client, room, left) = (client.clone(), Arc::clone(&room), Arc::clone(&left));
            tasks.spawn(async move {
                let mut turns = 0;
                while left.load(Ordering::SeqCst) > 0 {
                    let lock = client.write(format!("of:{kind}")).kind(kind).wait(LONG);
                    let held = lock.acquire().await.unwrap();
                    let token = held.fencing_token().get();
                    assert!(!room.inside.swap(true, Ordering::SeqCst), "{kind}: two holders");
                    let before = room.last_token.swap(token, Ordering::SeqCst);
                    assert!(token > before, "{kind}: {token} after {before}");
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    room.inside.store(false, Ordering::SeqCst);
                    held.release().await.unwrap();
                    turns += 1;
                    if turns == TURNS {
                        left.fetch_sub(1, Ordering::SeqCst);
                    }
                }
                (kind, turns)
            });
        }
    }
    let turns = bounded(LONG, tasks.join_all()).await;
    assert!(turns.iter().all(|(_, turns)| *turns >= TURNS), "{turns:?}");
}
