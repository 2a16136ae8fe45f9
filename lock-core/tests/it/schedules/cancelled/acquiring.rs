//! Acquisitions of every kind: free, in others' way, in a scope that holds the lock already.

use std::sync::Arc;

use lock_core::{Acquire, Kind, LockClient, Lockable, Member, Mode, Slots};

use super::{Case, case};
use crate::schedules::{
    polled::polled,
    two_clients::{LONG, TwoClients, ms},
};

const KINDS: [(Kind, Mode); 8] = [
    (Kind::ReadWrite, Mode::Read),
    (Kind::ReadWrite, Mode::Write),
    (Kind::FairReadWrite, Mode::Read),
    (Kind::FairReadWrite, Mode::Write),
    (Kind::Reentrant, Mode::Write),
    (Kind::NonReentrant, Mode::Write),
    (Kind::Fair, Mode::Write),
    (Kind::Fenced, Mode::Write),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.push(case("client/leader.rs::run", "free", |world, polls| async move {
        world.begin();
        let led = world.here.leader("k").run(async |_| tokio::time::sleep(ms(20)).await);
        // It is a candidate until it leads, however long the store does not answer.
        polled(tokio::time::timeout(ms(1_500), led), polls).await.is_over()
    }));
    for busy in [false, true] {
        let name = if busy { "in the way of another run" } else { "free" };
        cases.push(case("client/once_per.rs::run", name, move |world, polls| async move {
            let other = world.there.write("k").max_hold(ms(700));
            let other = if busy { Some(other.acquire().await.unwrap()) } else { None };
            world.begin();
            let job = world.here.write("k").wait(ms(2_000));
            let job = job.once_per(Slots::every(LONG)).run(async |_| {
                tokio::time::sleep(ms(20)).await;
                Ok::<_, ()>(())
            });
            let over = polled(job, polls).await.is_over();
            drop(other);
            over
        }));
    }
    for (kind, mode) in KINDS {
        let name = |how: &str| format!("{kind} {mode}, {how}");
        let ask = move |client: &LockClient| client.lock(mode, "k").kind(kind);
        cases.push(case(
            "client/acquire.rs::acquire",
            name("free"),
            move |world, polls| async move { acquired(&world, ask(&world.here), polls).await },
        ));
        cases.push(case(
            "client/acquire.rs::try_acquire",
            name("free"),
            move |world, polls| async move {
                world.begin();
                polled(ask(&world.here).try_acquire(), polls).await.is_over()
            },
        ));
        cases.push(case("client/acquire.rs::run", name("free"), move |world, polls| async move {
            world.begin();
            let work = tokio::time::sleep(ms(20));
            polled(ask(&world.here).run(work), polls).await.is_over()
        }));
        cases.push(case(
            "client/acquire.rs::acquire",
            name("in others' way"),
            move |world, polls| in_the_way(world, kind, mode, polls),
        ));
        if kind != Kind::NonReentrant {
            cases.push(case(
                "client/acquire.rs::acquire",
                name("again"),
                move |world, polls| async move {
                    let scope = world.here.scope();
                    let outer = ask(&world.here).in_scope(&scope).acquire().await.unwrap();
                    let over = acquired(&world, ask(&world.here).in_scope(&scope), polls).await;
                    world.end();
                    // It counts as released only when the outer one is.
                    assert!(outer.is_held());
                    tokio::time::sleep(ms(2_500)).await;
                    let holds = world.there.inspect("k").await.unwrap().holders;
                    let counts: Vec<_> = holds.iter().map(|own| own.reads + own.writes).collect();
                    assert_eq!(counts, [1], "the outer one is what is left");
                    outer.release().await.unwrap();
                    over
                },
            ));
        }
    }
    cases.extend(several());
    cases.extend(shared());
    cases.extend(single_flights());
    cases
}

/// Alone, and behind a holder in the other process that leaves no result.
fn single_flights() -> Vec<Case> {
    let operations = ["client/once.rs::once", "client/once.rs::once_or_unlocked"];
    let mut cases = Vec::new();
    for (unlocked, operation) in operations.into_iter().enumerate() {
        for (kind, busy) in [
            (Kind::ReadWrite, false),
            (Kind::ReadWrite, true),
            (Kind::FairReadWrite, true),
            (Kind::Fenced, true),
        ] {
            let name = format!("{kind}, {}", if busy { "in others' way" } else { "free" });
            cases.push(case(operation, name, move |world, polls| async move {
                let other = world.there.write("k").kind(kind).max_hold(ms(700));
                let other = if busy { Some(other.acquire().await.unwrap()) } else { None };
                world.begin();
                let lock = world.here.write("k").kind(kind).wait(ms(2_000));
                let check = || async {
                    tokio::time::sleep(ms(1)).await;
                    Ok::<_, ()>(None)
                };
                let fill = || async {
                    tokio::time::sleep(ms(20)).await;
                    Ok(())
                };
                let over = if unlocked == 0 {
                    polled(lock.once(check, fill), polls).await.is_over()
                } else {
                    polled(lock.once_or_unlocked(check, fill), polls).await.is_over()
                };
                drop(other);
                over
            }));
        }
    }
    cases
}

fn several() -> [Case; 4] {
    let all = |client: &LockClient| {
        client.multi_lock([
            client.read("a").into(),
            client.fair("b").into(),
            client.semaphore("s", 1).permit().into(),
            Member::from(client.write("k")),
        ])
    };
    [
        case("client/acquire.rs::acquire", "several", move |world, polls| async move {
            acquired(&world, all(&world.here), polls).await
        }),
        case(
            "client/acquire.rs::acquire",
            "several, the last in others' way",
            move |world, polls| async move {
                let other = world.there.write("k").max_hold(ms(700)).acquire().await.unwrap();
                let over = acquired(&world, all(&world.here).wait(ms(2_000)), polls).await;
                drop(other);
                over
            },
        ),
        case("client/acquire.rs::acquire", "a permit", |world, polls| async move {
            acquired(&world, world.here.semaphore("s", 1).permit(), polls).await
        }),
        case(
            "client/acquire.rs::acquire",
            "a permit that others have",
            |world, polls| async move {
                let other = world.there.semaphore("s", 1).permit().max_hold(ms(700));
                let other = other.acquire().await.unwrap();
                let ask = world.here.semaphore("s", 1).permit().wait(ms(2_000));
                let over = acquired(&world, ask, polls).await;
                drop(other);
                over
            },
        ),
    ]
}

/// Two readers of one process.
fn shared() -> [Case; 3] {
    let read = |world: &TwoClients| world.here.read("k").wait(ms(2_000));
    [
        case(
            "client/acquire.rs::acquire",
            "while another requests both",
            move |world, polls| async move {
                world.begin();
                let other = tokio::spawn(read(&world).acquire());
                tokio::time::sleep(ms(1)).await;
                let over = polled(read(&world).acquire(), polls).await.is_over();
                drop(other.await);
                over
            },
        ),
        case("client/acquire.rs::acquire", "for another too", move |world, polls| async move {
            world.begin();
            let requests = read(&world);
            let requests =
                tokio::spawn(async move { polled(requests.acquire(), polls).await.is_over() });
            tokio::task::yield_now().await;
            let other = tokio::spawn(read(&world).acquire());
            tokio::time::sleep(ms(2_500)).await;
            world.end();
            if let Ok(other) = other.await.unwrap() {
                assert_eq!(world.there.inspect("k").await.unwrap().holders.len(), 1);
                other.release().await.unwrap();
            }
            requests.await.unwrap()
        }),
        case(
            "client/acquire.rs::acquire",
            "again, under another's",
            move |world, polls| async move {
                let host = read(&world).acquire().await.unwrap();
                let scope = world.here.scope();
                let follower = read(&world).in_scope(&scope).acquire().await.unwrap();
                drop(host);
                let over = acquired(&world, read(&world).in_scope(&scope), polls).await;
                world.end();
                tokio::time::sleep(ms(2_500)).await;
                assert!(follower.is_held());
                let stored = world.there.inspect("k").await.unwrap();
                assert_eq!(stored.holders.iter().map(|own| own.reads).collect::<Vec<_>>(), [1]);
                follower.release().await.unwrap();
                over
            },
        ),
    ]
}

async fn acquired<T: Lockable>(world: &TwoClients, ask: Acquire<T>, polls: usize) -> bool {
    world.begin();
    polled(ask.acquire(), polls).await.is_over()
}

/// The lock is held, and another waiter is behind: when the one in between is dropped, the last is
/// granted the lock once the first has released it.
async fn in_the_way(world: Arc<TwoClients>, kind: Kind, mode: Mode, polls: usize) -> bool {
    let ask = |client: &LockClient| client.write("k").kind(kind);
    let other = ask(&world.there).acquire().await.unwrap();
    world.begin();
    let waits = world.here.lock(mode, "k").kind(kind).wait(ms(4_000));
    let between = tokio::spawn(async move { polled(waits.acquire(), polls).await.is_over() });
    tokio::time::sleep(ms(20)).await;
    let behind = tokio::spawn(ask(&world.there).wait(LONG).acquire());
    tokio::time::sleep(ms(1_500)).await;
    world.end();
    other.release().await.unwrap();
    let over = between.await.unwrap();
    behind.await.unwrap().unwrap().release().await.unwrap();
    over
}
