//! Beside the real Kazoo, of Python: its locks and ours of the same path are one lock.
//!
//! Curator does not understand the names of Kazoo's contenders, and would be granted what they hold. So
//! beside Java a lock in Python has names as Curator's, which takes two lines.

use std::time::Duration;

use futures_util::future::join_all;
use lock_core::{AcquireError, LockClient};

use crate::interop::{
    curator::shared_zookeeper::SharedZooKeeper,
    peer::{Java, Peer, Requested, Rust},
};

/// The holder's kind and the one that it keeps out.
const EXCLUDING: [(&str, &str); 4] =
    [("reentrant", "reentrant"), ("write", "write"), ("write", "read"), ("read", "write")];

const CROWD_LIMIT: Duration = Duration::from_secs(120);

async fn two(world: &SharedZooKeeper) -> Vec<Peer> {
    let (python, rust) = tokio::join!(world.python("kazoo"), world.peer(Rust));
    vec![python, rust]
}

async fn three(world: &SharedZooKeeper) -> Vec<Peer> {
    let (java, rust, python) =
        tokio::join!(world.peer(Java), world.peer(Rust), world.python("curator"));
    vec![python, rust, java]
}

#[tokio::test]
async fn each_respects_the_others() {
    let world = SharedZooKeeper::start().await;
    for peers in [two(&world).await, three(&world).await] {
        each_respects_each(&peers).await;
        readers_share(&peers).await;
        world.is_clean().await;
    }
}

async fn each_respects_each(peers: &[Peer]) {
    for (holding, waiting) in EXCLUDING {
        let key = format!("{holding}-{waiting}");
        for (at, holder) in peers.iter().enumerate() {
            holder.must("held", "a", format!("acquire {holding} {key} 0 0")).await;
            let others = peers.iter().enumerate().filter(|(other, _)| *other != at);
            for (_, other) in others {
                other.must("busy", "b", format!("acquire {waiting} {key} 0 0")).await;
                other.must("busy", "b", format!("acquire {waiting} {key} 100 0")).await;
            }
            holder.must("released", "a", format!("release {holding} {key}")).await;
        }
    }
}

async fn readers_share(peers: &[Peer]) {
    for peer in peers {
        peer.must("held", "a", "acquire read k 0 0").await;
    }
    for peer in peers {
        for writer in peers {
            writer.must("busy", "w", "acquire write k 0 0").await;
        }
        peer.must("released", "a", "release read k").await;
    }
}

/// Each of them waits, in each place of the line, and is woken by the one before it.
#[tokio::test]
async fn the_line_is_one() {
    let world = SharedZooKeeper::start().await;
    for peers in [two(&world).await, three(&world).await] {
        for kind in ["reentrant", "write"] {
            for first in 0..peers.len() {
                let line: Vec<_> = peers.iter().cycle().skip(first).take(peers.len()).collect();
                stand_in_line(&world, kind, &line).await;
            }
        }
        world.is_clean().await;
    }
}

async fn stand_in_line(world: &SharedZooKeeper, kind: &str, line: &[&Peer]) {
    let mut waiting = Vec::new();
    for (place, peer) in line.iter().enumerate() {
        let thread = format!("{kind}-{place}");
        waiting.push(peer.tell(&thread, format!("acquire {kind} {kind} 60000 0")));
        world.has_contenders(kind, place + 1).await;
    }
    for place in 0..line.len() {
        waiting.remove(0).must("held").await;
        assert!(!waiting.iter().any(Requested::is_answered), "one behind it holds the lock too");
        assert_eq!(world.contenders(kind).await.len(), line.len() - place);
        let thread = format!("{kind}-{place}");
        line[place].must("released", &thread, format!("release {kind} {kind}")).await;
    }
}

#[tokio::test]
async fn nothing_is_lost_in_a_mixed_crowd() {
    let world = SharedZooKeeper::start().await;
    for peers in [two(&world).await, three(&world).await] {
        for (kind, beside) in [("reentrant", None), ("write", Some("read"))] {
            let counter = world.counter(kind);
            let path = counter.display();
            let mut crowd = Vec::new();
            for peer in &peers {
                crowd.push(peer.tell("a", format!("crowd {kind} {kind} {path} 100")));
                if let Some(beside) = beside {
                    crowd.push(peer.tell("b", format!("crowd {beside} {kind} {path} 50")));
                }
            }
            let done =
                join_all(crowd.into_iter().map(|done| done.answer_within(CROWD_LIMIT))).await;
            assert!(done.iter().all(|done| done == "done"), "{kind}: {done:?}");
            let turns = 100 * u64::try_from(peers.len()).expect("a few");
            assert_eq!(SharedZooKeeper::counted(&counter), turns, "{kind}");
        }
        world.is_clean().await;
    }
}

#[tokio::test]
async fn an_operator_sees_kazoos_holder() {
    let world = SharedZooKeeper::start().await;
    let python = world.python("kazoo").await;
    let client = LockClient::connect(&world.url()).await.expect("a client");
    for (kind, is_shared) in [("reentrant", false), ("read", true)] {
        python.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
        let seen = client.inspect(kind).await.expect("an answer");
        let [holder] = &seen.holders[..] else { panic!("{seen:?}") };
        assert!(holder.owner.contains("lock__") && holder.owner.contains("(python)"), "{seen:?}");
        assert_eq!(seen.mode.map(|mode| mode.to_string()).as_deref() == Some("read"), is_shared);
        let forced = client.force_release(kind).await.expect("an answer");
        assert!(forced.was_held);
    }
    world.is_clean().await;
}

/// If it were ignored, the lock would be granted to both.
#[tokio::test]
async fn a_contender_of_an_unknown_recipe_refuses_ours() {
    let world = SharedZooKeeper::start().await;
    let client = LockClient::connect(&world.url()).await.expect("a client");
    let wait = Duration::from_secs(30);
    for key in ["unknown", "kazoo-semaphore"] {
        world.znodes.create(&world.path_of(key), "").await;
    }
    world.znodes.create_ephemeral_sequential(&format!("{}/write-", world.path_of("unknown"))).await;
    world.znodes.create(&format!("{}/__lock__", world.path_of("kazoo-semaphore")), "").await;
    for key in ["unknown", "kazoo-semaphore"] {
        let refused = [
            client.reentrant(key).wait(wait).acquire().await.map(drop),
            client.reentrant(key).try_acquire().await.map(drop),
            client.write(key).wait(wait).acquire().await.map(drop),
            client.read(key).wait(wait).acquire().await.map(drop),
            client.semaphore(key, 2).permit().wait(wait).acquire().await.map(drop),
        ];
        for refused in refused {
            assert!(matches!(refused, Err(AcquireError::WrongKind(_))), "{key}: {refused:?}");
        }
    }
    // The folders of keys have such names too, and are no contenders.
    let below = client.reentrant("user/1700000000").wait(wait).acquire().await.expect("a lock");
    let above = client.reentrant("user").wait(wait).acquire().await.expect("a lock beside it");
    above.release().await.expect("released");
    below.release().await.expect("released");
}
