//! Several locks in several slots, which no command can take at once.

use std::time::Duration;

use lock_core::{AcquireError, LostCause};
use lock_tests::{LIMIT, RedisCluster, Wire, bounded, eventually, on_every_wire};

use crate::deployments::{LONG, client, lock_keys};

on_every_wire! {
    a_multi_lock_fails_when_one_is_lost_during_the_wait
}

async fn a_multi_lock_fails_when_one_is_lost_during_the_wait(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let (here, there) = (client(wire, &cluster.url()).await, client(wire, &cluster.url()).await);
    let blocking = there.write("b").acquire().await.unwrap();
    let both = here.multi_lock([here.write("a"), here.write("b")]);
    let waiting = tokio::spawn(both.lease(Duration::from_secs(3)).wait(LONG).acquire());
    let has_a = async || cluster.keys().await.contains(&"lock:a".to_owned());
    eventually("it has the first", LIMIT, has_a).await;
    there.force_release("a").await.unwrap();
    // The other one is still held: nothing but the loss can end the wait before its time.
    let refused = bounded(LONG / 2, waiting).await.unwrap();
    let Err(AcquireError::Lost(lost)) = refused else { panic!("{refused:?}") };
    assert_eq!((lost.key().as_str(), lost.cause()), ("a", LostCause::Taken));
    assert!(blocking.is_held());
    blocking.release().await.unwrap();
    eventually("all is released", LIMIT, async || here.health().await.holds == 0).await;
    assert_eq!(lock_keys(cluster.keys().await), [""; 0]);
}
