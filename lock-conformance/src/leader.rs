//! Of several processes one leads, and the next takes over from it.

use std::future::pending;

use lock_core::{AcquireError, FencingToken, LockClient, Term};
use tokio::{sync::watch, task::JoinHandle};

use super::store_under_test::{StoreUnderTest, refused, soon};
use crate::{LIMIT, Stopwatch};

type Terms = watch::Receiver<Option<Term>>;

/// A leader whose work never ends by itself.
fn lead(client: &LockClient) -> (Terms, JoinHandle<Result<(), AcquireError>>) {
    let leader = client.leader("k");
    (leader.watch(), tokio::spawn(leader.run(async |_| pending().await)))
}

/// The token of the term, once it leads.
async fn led(terms: &mut Terms) -> FencingToken {
    let term = soon(terms.wait_for(Option::is_some)).await.unwrap();
    term.as_ref().map(Term::fencing_token).unwrap()
}

pub(super) async fn the_next_leads_as_soon_as_one_resigns(world: StoreUnderTest) {
    let clients = [world.client().await, world.client().await, world.client().await];
    let mut before = FencingToken::NONE;
    let mut waiting = lead(&clients[0]);
    for (client, next) in clients.iter().zip(&clients[1..]) {
        let (mut terms, ended) = waiting;
        let token = led(&mut terms).await;
        assert!(token > before, "{token} after {before}");
        before = token;
        waiting = lead(next);
        refused(next).await;
        assert!(waiting.0.borrow().is_none());

        let taken_over = Stopwatch::start().within(world.woken(), led(&mut waiting.0));
        let (left, token) = tokio::join!(soon(client.shutdown(LIMIT)), taken_over);
        left.unwrap();
        assert!(token > before, "{token} after {before}");
        assert!(terms.borrow().is_none());
        assert!(matches!(soon(ended).await.unwrap(), Err(AcquireError::Draining)));
    }
    soon(clients[2].shutdown(LIMIT)).await.unwrap();
}

pub(super) async fn a_leader_resigns_on_request(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let (mut first, here_ended) = lead(&here);
    let before = led(&mut first).await;
    let (mut second, there_ended) = lead(&there);
    world.until_waiters(&here, "k", 1).await;
    assert_eq!(soon(there.request_release("k")).await.unwrap(), 1);
    soon(first.wait_for(Option::is_none)).await.unwrap();
    let after = led(&mut second).await;
    assert!(after > before);
    // The former leader is a candidate again.
    world.until_waiters(&here, "k", 1).await;
    soon(here.request_release("k")).await.unwrap();
    assert!(led(&mut first).await > after);
    here_ended.abort();
    there_ended.abort();
}
