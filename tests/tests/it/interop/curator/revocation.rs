//! One side requests the release of what the other holds: Curator's revocation.

use crate::interop::{
    curator::{kinds::OWNED, shared_zookeeper::SharedZooKeeper},
    peer::{Java, Rust},
};

#[tokio::test]
async fn the_holder_receives_the_request_of_the_other() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        for kind in OWNED {
            other.must("free", "b", format!("revoke {kind} {kind}")).await;
            if language == Java {
                one.must("revocable", "a", format!("revocable {kind} {kind}")).await;
            }
            one.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
            // Java hears it on another thread; ours waits on the one that has the lock.
            let revoked = one.tell(
                if language == Java { "listener" } else { "a" },
                format!("revoked {kind} {kind}"),
            );
            assert!(!revoked.is_answered());
            other.must("requested", "b", format!("revoke {kind} {kind}")).await;
            revoked.must("revoked").await;
            one.must("released", "a", format!("release {kind} {kind}")).await;
        }
    }
    world.is_clean().await;
}

#[tokio::test]
async fn a_request_takes_nothing_away_and_is_not_for_the_next_holder() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for kind in OWNED {
        pair.rust.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
        pair.java.must("requested", "b", format!("revoke {kind} {kind}")).await;
        pair.rust.must("revoked", "a", format!("revoked {kind} {kind}")).await;
        pair.rust.must("true", "a", format!("held {kind} {kind}")).await;
        pair.rust.must("released", "a", format!("release {kind} {kind}")).await;

        pair.rust.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
        let revoked = pair.rust.tell("a", format!("revoked {kind} {kind}"));
        // An answer of another thread shows that the process has gone on.
        pair.rust.must("true", "b", format!("locked {kind} {kind}")).await;
        assert!(!revoked.is_answered(), "{kind}: the request of an earlier holder");
        pair.java.must("requested", "b", format!("revoke {kind} {kind}")).await;
        revoked.must("revoked").await;
        pair.rust.must("released", "a", format!("release {kind} {kind}")).await;
    }
    world.is_clean().await;
}
