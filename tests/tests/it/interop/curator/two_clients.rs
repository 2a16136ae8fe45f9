//! Two clients of Curator alone: the harness does what the other cases rely on.

use crate::interop::{
    curator::{
        kinds::{CROWDED, EXCLUDING, KINDS, OWNED, excluded},
        shared_zookeeper::SharedZooKeeper,
    },
    peer::Java,
};

#[tokio::test]
async fn they_exclude_each_other_by_each_recipe() {
    let world = SharedZooKeeper::start().await;
    let (one, other) = tokio::join!(world.peer(Java), world.peer(Java));
    for (holding, waiting, key) in EXCLUDING {
        one.must("held", "a", format!("acquire {holding} {key} 0")).await;
        other.must("busy", "b", format!("acquire {waiting} {key} 0")).await;
        let granted = other.tell("b", format!("acquire {waiting} {key} 60000"));
        assert!(!granted.is_answered());
        one.must("released", "a", format!("release {holding} {key}")).await;
        granted.must("held").await;
        one.must("busy", "a", format!("acquire {holding} {key} 0")).await;
        other.must("released", "b", format!("release {waiting} {key}")).await;
        other.must("gone", "b", format!("release {waiting} {key}")).await;
    }
    world.is_clean().await;
}

#[tokio::test]
async fn a_thread_holds_its_own_locks_again() {
    let world = SharedZooKeeper::start().await;
    let client = world.peer(Java).await;
    for kind in OWNED {
        for _ in 0..2 {
            client.must("held", "a", format!("acquire {kind} {kind} 0")).await;
        }
        assert_eq!(world.contenders(kind).await.len(), 1, "{kind}");
        client.must("false", "b", format!("owns {kind} {kind}")).await;
        for left in ["true", "false"] {
            client.must("released", "a", format!("release {kind} {kind}")).await;
            client.must(left, "a", format!("owns {kind} {kind}")).await;
        }
    }
    world.is_clean().await;
}

#[tokio::test]
async fn one_requests_the_release_from_the_other() {
    let world = SharedZooKeeper::start().await;
    let (one, other) = tokio::join!(world.peer(Java), world.peer(Java));
    for kind in OWNED {
        other.must("free", "b", format!("revoke {kind} {kind}")).await;
        one.must("revocable", "a", format!("revocable {kind} {kind}")).await;
        one.must("held", "a", format!("acquire {kind} {kind} 0")).await;
        let revoked = one.tell("listener", format!("revoked {kind} {kind}"));
        other.must("requested", "b", format!("revoke {kind} {kind}")).await;
        revoked.must("revoked").await;
        one.must("released", "a", format!("release {kind} {kind}")).await;
    }
    world.is_clean().await;
}

#[tokio::test]
async fn a_killed_process_leaves_its_locks_to_the_other() {
    let world = SharedZooKeeper::start().await.session(std::time::Duration::from_secs(2));
    let (dies, lives) = tokio::join!(world.process(Java), world.peer(Java));
    for kind in KINDS {
        dies.must("held", "a", format!("acquire {kind} {kind} 0")).await;
    }
    dies.kill();
    for kind in KINDS {
        let excluded = excluded(kind);
        lives.must("held", "b", format!("acquire {excluded} {kind} 60000")).await;
    }
}

#[tokio::test]
async fn their_crowds_lose_nothing() {
    let world = SharedZooKeeper::start().await;
    let (one, other) = tokio::join!(world.peer(Java), world.peer(Java));
    for (kind, beside) in CROWDED {
        let counter = world.counter(kind);
        let path = counter.display();
        let mut crowd = Vec::new();
        for peer in [&one, &other] {
            crowd.push(peer.tell("a", format!("crowd {kind} {kind} {path} 50")));
            if let Some(beside) = beside {
                crowd.push(peer.tell("b", format!("crowd {beside} {kind} {path} 20")));
            }
        }
        for done in crowd {
            done.must("done").await;
        }
        assert_eq!(SharedZooKeeper::counted(&counter), 100, "{kind}");
    }
    world.is_clean().await;
}
