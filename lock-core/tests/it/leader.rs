//! Leaders on the in-memory store under a paused clock.

use std::{
    future::{pending, ready},
    panic::AssertUnwindSafe,
    time::Duration,
};

use futures_util::FutureExt;
use lock_core::{
    AcquireError, FencingToken, Kind, Leader, LockClient, LockKey, MemoryStore, Term,
    test_util::lose,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Instant, advance, sleep, timeout},
};

const SECOND: Duration = Duration::from_secs(1);
/// From a release to the grant of the next: nothing waits for a timer.
const AT_ONCE: Duration = Duration::from_millis(5);

type Terms = watch::Receiver<Option<Term>>;
type Ended = JoinHandle<Result<(), AcquireError>>;

fn two_clients() -> (MemoryStore, LockClient, LockClient) {
    let store = MemoryStore::new();
    let client = || LockClient::builder().ticket_key([7; 32]).in_memory_on(&store);
    let (here, there) = (client(), client());
    (store, here, there)
}

/// Runs a leader whose work never ends by itself.
fn lead(leader: Leader) -> (Terms, Ended) {
    (leader.watch(), tokio::spawn(leader.run(async |_| pending().await)))
}

/// Returns the token of the term, once it leads.
async fn led(terms: &mut Terms) -> FencingToken {
    let term = timeout(SECOND * 60, terms.wait_for(Option::is_some)).await.unwrap().unwrap();
    term.as_ref().map(Term::fencing_token).unwrap()
}

async fn leads_no_more(terms: &mut Terms) {
    timeout(SECOND * 60, terms.wait_for(Option::is_none)).await.unwrap().unwrap();
}

async fn error(leader: Leader) -> AcquireError {
    timeout(SECOND, leader.run(async |_| ())).await.unwrap().unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn it_leads_until_its_work_returns() {
    let (_, here, there) = two_clients();
    let leader = here.leader("k");
    let terms = leader.watch();
    let mut calls = 0;
    let output = leader.run(async |term| {
        calls += 1;
        let shown = terms.borrow().as_ref().map(Term::fencing_token);
        assert_eq!(shown, Some(term.fencing_token()));
        assert!(term.is_current() && term.lock().remaining() > SECOND);
        assert!(there.fenced("k").try_acquire().await.is_err());
        term
    });
    let term = output.await.unwrap();
    assert_eq!(calls, 1);
    assert!(!term.is_current());
    assert!(terms.borrow().is_none());
    sleep(AT_ONCE).await;
    let next = there.fenced("k").try_acquire().await.unwrap();
    assert!(next.fencing_token() > term.fencing_token());
}

#[tokio::test(start_paused = true)]
async fn a_stopped_leader_runs_no_step_more_and_leads_again_later() {
    let (_, here, _) = two_clients();
    let mut steps = Vec::new();
    let work = async |term: Term| {
        for step in 0.. {
            steps.push((term.fencing_token(), Instant::now()));
            // As if the process were stopped: time passes and no task runs.
            if step == 2 && steps.len() == 3 {
                advance(SECOND * 2).await;
            }
            if steps.len() == 5 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    here.leader("k").lease(SECOND).run(work).await.unwrap();
    let [first, _, last, next, _] = steps[..] else { panic!("{steps:?}") };
    assert_eq!(first.0, last.0, "three steps of the first term, and no other");
    assert!(next.0 > last.0, "the next step has a new term");
    let pause = next.1 - last.1 - SECOND * 2;
    assert!((SECOND / 8..=SECOND / 4 + AT_ONCE).contains(&pause), "{pause:?}");
}

#[tokio::test(start_paused = true)]
async fn a_loss_drops_the_work_and_pauses_grow_until_a_term_lasts() {
    let (_, here, there) = two_clients();
    let key = LockKey::try_from("k").unwrap();
    let (mut terms, ended) = lead(here.leader("k"));
    let mut before = led(&mut terms).await;
    let mut pauses = Vec::new();
    for number in 0..8 {
        if number == 7 {
            // A lease is 30 s.
            sleep(SECOND * 30).await;
        }
        assert_eq!(lose(&here, &key), 1);
        leads_no_more(&mut terms).await;
        let lost = Instant::now();
        let token = led(&mut terms).await;
        assert!(token > before);
        (before, pauses) = (token, [pauses, vec![lost.elapsed().as_millis()]].concat());
    }
    for (pause, most) in pauses.iter().zip([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000, 250]) {
        assert!((most / 2..=most + 5).contains(pause), "{pauses:?}");
    }
    drop(there);
    ended.abort();
}

#[tokio::test(start_paused = true)]
async fn the_next_leads_at_once_when_one_shuts_down() {
    let (_, here, there) = two_clients();
    let (mut first, ended) = lead(here.leader("k"));
    let before = led(&mut first).await;
    let (mut second, waiting) = lead(there.leader("k"));
    sleep(SECOND * 100).await;
    assert!(second.borrow().is_none());
    let resigned = Instant::now();
    let (left, after) = tokio::join!(here.shutdown(SECOND), led(&mut second));
    left.unwrap();
    assert!(after > before);
    assert!(resigned.elapsed() <= AT_ONCE, "{:?}", resigned.elapsed());
    assert!(matches!(ended.await.unwrap(), Err(AcquireError::Draining)));
    // One that waits and one that pauses end at once too.
    let (_, paused) = lead(there.leader("k"));
    there.shutdown(SECOND).await.unwrap();
    for ended in [waiting, paused] {
        assert!(matches!(ended.await.unwrap(), Err(AcquireError::Draining)));
    }
    assert!(matches!(error(here.leader("k")).await, AcquireError::Draining));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_dropped_or_panics_resigns() {
    let (_, here, there) = two_clients();
    let (mut terms, ended) = lead(here.leader("k"));
    led(&mut terms).await;
    ended.abort();
    leads_no_more(&mut terms).await;
    sleep(AT_ONCE).await;
    drop(there.fenced("k").try_acquire().await.unwrap());
    sleep(AT_ONCE).await;

    let leader = here.leader("k");
    let terms = leader.watch();
    let panics = leader.run(async |_| panic!("in the work"));
    AssertUnwindSafe(panics).catch_unwind().await.map(drop).unwrap_err();
    assert!(terms.borrow().is_none());
    sleep(AT_ONCE).await;
    drop(there.fenced("k").try_acquire().await.unwrap());
    sleep(AT_ONCE).await;

    let guard = there.fenced("k").acquire().await.unwrap();
    let (_, waits) = lead(here.leader("k"));
    sleep(SECOND).await;
    assert_eq!(here.inspect("k").await.unwrap().waiting, 1);
    waits.abort();
    drop(guard);
    sleep(AT_ONCE).await;
    assert_eq!(here.health().await.holds, 0);
    assert!(here.health().await.leaders.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_can_never_lead_ends_at_once() {
    let (_, here, there) = two_clients();
    assert!(matches!(error(here.leader("")).await, AcquireError::Key(_)));
    let short = here.leader("k").lease(Duration::from_millis(1));
    assert!(matches!(error(short).await, AcquireError::InvalidOptions(_)));
    let _guard = there.write("k").acquire().await.unwrap();
    assert!(matches!(error(here.leader("k")).await, AcquireError::WrongKind(_)));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_is_waited_for() {
    let (store, here, there) = two_clients();
    store.set_down(true);
    let (mut terms, ended) = lead(here.leader("k").lease(SECOND * 3));
    sleep(SECOND * 100).await;
    assert!(!ended.is_finished() && terms.borrow().is_none());
    store.set_down(false);
    let up = Instant::now();
    let first = led(&mut terms).await;
    assert!(up.elapsed() <= SECOND * 3, "{:?}", up.elapsed());
    // A leader without the store is one until its lease ends, and again afterwards.
    store.set_down(true);
    let down = Instant::now();
    leads_no_more(&mut terms).await;
    assert!(down.elapsed() < SECOND * 3);
    sleep(SECOND * 100).await;
    store.set_down(false);
    assert!(led(&mut terms).await > first);
    assert!(there.fenced("k").try_acquire().await.is_err());
    ended.abort();
}

#[tokio::test(start_paused = true)]
async fn health_and_statistics_show_it() {
    let (_, here, there) = two_clients();
    let (mut first, ended) = lead(here.leader("k").name("reconciler"));
    let token = led(&mut first).await;
    let (_, waits) = lead(there.leader("k"));
    tokio::task::yield_now().await;
    for (client, name, term) in [(&here, Some("reconciler"), Some(token)), (&there, None, None)] {
        let [leader] = &client.health().await.leaders[..] else { panic!("one leader") };
        assert_eq!((leader.name.as_deref(), leader.key.as_str(), leader.term), (name, "k", term));
        assert_eq!(client.statistics().leaders[..], *std::slice::from_ref(leader));
    }
    ended.abort();
    waits.abort();
    tokio::task::yield_now().await;
    assert!(here.statistics().leaders.is_empty());
}

#[tokio::test(start_paused = true)]
async fn each_leader_of_a_client_is_shown() {
    let (_, here, _) = two_clients();
    let ended = ["a", "b"].map(|key| lead(here.leader(key)).1);
    tokio::task::yield_now().await;
    let leaders = here.statistics().leaders;
    assert_eq!(leaders.iter().map(|leader| leader.key.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    ended.iter().for_each(JoinHandle::abort);
}

/// The receiver is not notified yet: the term itself knows.
#[tokio::test(start_paused = true)]
async fn a_receiver_in_a_stopped_process_checks_the_term_by_the_clock() {
    let (store, here, _) = two_clients();
    let (mut terms, ended) = lead(here.leader("k").lease(SECOND));
    led(&mut terms).await;
    store.set_down(true);
    advance(SECOND).await;
    let shown = terms.borrow().clone();
    if let Some(term) = shown {
        assert!(!term.is_current());
    }
    assert_eq!(here.statistics().leaders[0].term, None);
    leads_no_more(&mut terms).await;
    ended.abort();
}

#[tokio::test(start_paused = true)]
async fn a_scope_that_holds_the_key_has_no_second_leader() {
    let (_, here, _) = two_clients();
    let scope = here.scope();
    let _outer = here.fenced("k").in_scope(&scope).acquire().await.unwrap();
    let (leader, led) = (here.leader("k"), scope.run(async { here.leader("k") }).await);
    for leader in [leader, led] {
        let led = timeout(SECOND * 10, scope.run(leader.run(ready))).await;
        assert!(led.is_err(), "it leads beside the holder");
    }
}

/// A term that is parked is led by the holder of the ticket.
#[tokio::test(start_paused = true)]
async fn parking_ends_the_term() {
    let (_, here, there) = two_clients();
    let (sender, mut tickets) = mpsc::channel(1);
    let (leader, mut steps) = (here.leader("k"), 0);
    let mut terms = leader.watch();
    let led = leader.run(async |term| {
        let ticket = term.lock().park(SECOND * 30).await.unwrap();
        sender.send(ticket).await.unwrap();
        sleep(SECOND).await;
        steps += 1;
    });
    assert!(timeout(SECOND * 10, led).await.is_err(), "it waits for the next term");
    assert_eq!(steps, 0, "the work continued");
    leads_no_more(&mut terms).await;
    let resumed = there.resume(&tickets.recv().await.unwrap()).await.unwrap();
    assert_eq!(resumed.view().kind(), Kind::Fenced);
}
