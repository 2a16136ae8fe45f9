//! The work of long holds and long waits, and deadlocks that are found from it.

use std::sync::Arc;

use lock_core::{AcquireError, Kind, LockClient, WorkInfo, WorkOrigin};

use super::store_under_test::{LONG, StoreUnderTest, soon, written};
use crate::{LIMIT, eventually};

#[derive(Debug)]
struct Request;

impl WorkOrigin for Request {
    fn describe(&self, work: &mut WorkInfo) {
        work.route = Some("PUT /orders/{id}".to_owned());
        // As a client may have sent it.
        work.request_id = Some("\"r 1\" <b>".to_owned());
    }
}

async fn client(world: &StoreUnderTest) -> LockClient {
    world.client_with(LockClient::builder().lease(world.short()).refuse_deadlocks(true)).await
}

pub(super) async fn long_holds_and_waits_are_written_down(world: StoreUnderTest) {
    let (here, there) = (client(&world).await, client(&world).await);
    for kind in [Kind::ReadWrite, Kind::Fair] {
        let scope = here.scope();
        scope.set_origin(Arc::new(Request));
        let guard = written(&here, kind, "k").name("orders").in_scope(&scope).acquire().await;
        let guard = guard.unwrap();
        let also = written(&here, kind, "also").in_scope(&scope).acquire().await.unwrap();
        let seen = async || there.inspect("k").await.unwrap().holders.remove(0);
        let is_shown = async || seen().await.work.is_some_and(|work| !work.also_holds.is_empty());
        eventually("what the hold is for", LIMIT, is_shown).await;
        let holder = seen().await;
        assert!(holder.age.is_some(), "{holder:?}");
        let work = holder.work.unwrap();
        assert_eq!(work.name.as_deref(), Some("orders"));
        assert_eq!(work.route.as_deref(), Some("PUT /orders/{id}"));
        assert_eq!(work.request_id.as_deref(), Some("\"r 1\" <b>"));
        assert_eq!(work.also_holds, ["also"]);

        let waits = written(&there, kind, "k").name("reports").wait(LONG);
        let waits = tokio::spawn(waits.acquire());
        let waiter = async || here.inspect("k").await.unwrap().waiters.into_iter().next();
        let is_shown = async || waiter().await.is_some_and(|waiter| waiter.work.is_some());
        eventually("what the waiter is for", LIMIT, is_shown).await;
        let waiter = waiter().await.unwrap();
        assert!(waiter.age.is_some(), "{waiter:?}");
        let work = waiter.work.unwrap();
        assert_eq!((work.name.as_deref(), work.waits_for.as_deref()), (Some("reports"), Some("k")));
        guard.release().await.unwrap();
        also.release().await.unwrap();
        let next = soon(waits).await.unwrap().unwrap();
        let holder = seen().await;
        assert!(holder.work.is_none_or(|work| work.name.as_deref() == Some("reports")));
        next.release().await.unwrap();
    }
}

/// A permit is for its acquisition, not for its semaphore.
pub(super) async fn a_permit_is_written_down(world: StoreUnderTest) {
    let client = client(&world).await;
    let semaphore = client.semaphore("s", 3);
    let _one = semaphore.permit().name("one").acquire().await.unwrap();
    let _two = semaphore.permit().name("two").acquire().await.unwrap();
    let names = async || {
        let holders = client.inspect("s").await.unwrap().holders;
        let mut names: Vec<_> =
            holders.into_iter().filter_map(|holder| holder.work?.name).collect();
        names.sort();
        names
    };
    eventually("both", LIMIT, async || names().await == ["one", "two"]).await;
}

pub(super) async fn a_deadlock_between_three_processes_is_broken(world: StoreUnderTest) {
    for kind in [Kind::ReadWrite, Kind::Fair] {
        let clients = [client(&world).await, client(&world).await, client(&world).await];
        let mut scopes = Vec::new();
        for (client, key) in clients.iter().zip(["a", "b", "c"]) {
            let scope = client.scope();
            let held = written(client, kind, key).in_scope(&scope).acquire().await.unwrap();
            scopes.push((held, scope, client));
        }
        let waits = scopes.into_iter().zip(["b", "c", "a"]).map(|((held, scope, client), key)| {
            let waits = written(client, kind, key).in_scope(&scope).wait(LONG);
            tokio::spawn(async move {
                let ended = waits.acquire().await;
                drop(held);
                ended.map(drop)
            })
        });
        let mut refused = 0;
        for ended in soon(futures_util::future::join_all(waits)).await {
            match ended.unwrap() {
                Ok(()) => {}
                Err(AcquireError::Deadlock(deadlock)) => {
                    assert_eq!(deadlock.keys().len(), 3, "{kind}: {deadlock:?}");
                    refused += 1;
                }
                Err(other) => panic!("{kind}: {other}"),
            }
        }
        assert_eq!(refused, 1, "{kind}: the others went on");
    }
}
