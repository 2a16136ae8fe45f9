//! A client lives on the runtime that built it: the others may come and go.

use std::time::Duration;

use lock_core::{AcquireError, LeaseState};
use lock_tests::{LIMIT, RedisServer, Wire, eventually};
use tokio::runtime::{Builder, Runtime};

use crate::faults::{client_at, nothing_stays};

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

#[test]
fn holds_outlive_the_runtime_that_acquired_them() {
    let (own, other) = (runtime(), runtime());
    let server = own.block_on(RedisServer::start());
    let client = own.block_on(client_at(Wire::Native, &server.url()));
    let lease = Duration::from_secs(2);
    let guard = other.block_on(client.write("k").lease(lease).acquire()).unwrap();
    drop(other);
    own.block_on(async {
        eventually("renewed", LIMIT, async || guard.state() == LeaseState::Renewed).await;
        drop(guard);
        nothing_stays(&server, &[&client]).await;
    });
}

#[test]
fn a_client_of_an_ended_runtime_reports_it_at_once() {
    let (keeper, own) = (runtime(), runtime());
    let server = keeper.block_on(RedisServer::start());
    let client = own.block_on(client_at(Wire::Native, &server.url()));
    let lease = Duration::from_secs(2);
    let guard = own.block_on(client.write("k").lease(lease).acquire()).unwrap();
    drop(own);
    keeper.block_on(async {
        for fails_fast in [true, false] {
            let refused = client.write("other").fail_fast(fails_fast).wait(LIMIT).acquire();
            let refused = tokio::time::timeout(LIMIT / 2, refused).await.unwrap().unwrap_err();
            assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused:?}");
            assert!(refused.to_string().contains("runtime"), "{refused}");
        }
        assert!(guard.release().await.unwrap_err().to_string().contains("runtime"));
        let next = client_at(Wire::Native, &server.url()).await;
        next.write("k").wait(LIMIT).acquire().await.unwrap().release().await.unwrap();
    });
}
