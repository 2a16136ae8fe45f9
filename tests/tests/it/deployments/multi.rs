//! Several locks in several slots, which no command can take at once.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use lock_core::{AcquireError, LostCause};
use lock_tests::{LIMIT, RedisCluster, Wire, bounded, eventually, on_every_wire};
use lock_tower::{LockClient, RequestLockLayer, key::LockTemplate};
use tower::Layer;

use crate::deployments::{LONG, client, lock_keys};

on_every_wire! {
    a_multi_lock_fails_when_one_is_lost_during_the_wait
    a_layer_warns_of_locks_without_a_common_hash_tag
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

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The warnings at the construction of a layer with these locks.
fn warnings(client: &LockClient, templates: [&str; 2]) -> usize {
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone());
    tracing::subscriber::with_default(lines.finish(), || {
        let [limit, report] = templates;
        let locks = [LockTemplate::semaphore(limit, 2), LockTemplate::write(report)];
        let _service = RequestLockLayer::all(client.clone(), locks).unwrap().layer(());
    });
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    text.matches("acquires these locks one after the other").count()
}

async fn a_layer_warns_of_locks_without_a_common_hash_tag(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let client = client(wire, &cluster.url()).await;
    assert_eq!(warnings(&client, ["exports", "report:{id:u64}"]), 1);
    assert_eq!(warnings(&client, ["exports:{{{a:u64}}}", "report:{{{b:u64}}}"]), 1);
    assert_eq!(warnings(&client, ["{{exports}}:all", "{{exports}}:report:{id:u64}"]), 0);
    assert_eq!(warnings(&client, ["exports:{{{a:u64}}}", "report:{{{a:u64}}}:{b:uuid}"]), 0);
}
