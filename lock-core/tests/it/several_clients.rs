//! A multi-lock whose members are on several stores: all or none, in memory, on a clock that the test
//! moves.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_core::{Acquire, AcquireError, LockClient, LockEvent, LostCause, MemoryStore, MultiLock};
use tokio::time::{Instant, sleep};

const WAIT: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(1);

/// A client of each of three stores, in two processes.
fn three_stores() -> (Vec<MemoryStore>, [Vec<LockClient>; 2]) {
    let stores: Vec<_> = (0..3).map(|_| MemoryStore::new()).collect();
    let process = || {
        let client = |store| LockClient::builder().in_memory_on(store);
        stores.iter().map(client).collect()
    };
    let processes = [process(), process()];
    (stores, processes)
}

/// The key `k` of each.
fn of_all(clients: &[LockClient]) -> Acquire<MultiLock> {
    clients[0].multi_lock(clients.iter().map(|client| client.write("k")))
}

/// How many have the key `k`.
async fn held(clients: &[LockClient]) -> usize {
    sleep(MOMENT).await;
    let mut held = 0;
    for client in clients {
        held += client.inspect("k").await.unwrap().holders.len();
    }
    held
}

#[tokio::test(start_paused = true)]
async fn all_or_nothing() {
    let (_, [here, there]) = three_stores();
    for refuses in 0..3 {
        let theirs = there[refuses].write("k").acquire().await.unwrap();
        let refused = of_all(&here).try_acquire().await.unwrap_err();
        assert!(matches!(&refused, AcquireError::Busy(busy) if busy.key().as_str() == "k"));
        assert_eq!(held(&there).await, 1, "theirs");
        theirs.release().await.unwrap();
    }
    let guard = of_all(&here).try_acquire().await.unwrap();
    assert_eq!((guard.views().count(), held(&there).await), (3, 3));
    assert_eq!(guard.fencing_token("k"), Some(guard.views().next().unwrap().fencing_token()));
    for client in &there {
        assert!(client.write("k").try_acquire().await.is_err());
    }
    guard.release().await.unwrap();
    assert_eq!(held(&there).await, 0);
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_whichever_is_held_and_holds_nothing_meanwhile() {
    let (_, [here, there]) = three_stores();
    for refuses in 0..3 {
        let theirs = there[refuses].write("k").acquire().await.unwrap();
        let waiting = tokio::spawn(of_all(&here).wait(WAIT).acquire());
        sleep(WAIT / 4).await;
        assert_eq!(held(&there).await, 1, "theirs alone");
        for other in (0..3).filter(|at| *at != refuses) {
            there[other].write("k").try_acquire().await.unwrap().release().await.unwrap();
        }
        assert!(!waiting.is_finished());
        let began = Instant::now();
        theirs.release().await.unwrap();
        waiting.await.unwrap().unwrap().release().await.unwrap();
        assert!(began.elapsed() < Duration::from_millis(100), "it is woken: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_it_is_over() {
    let (_, [here, there]) = three_stores();
    let _theirs = there[2].write("k").acquire().await.unwrap();
    let began = Instant::now();
    let refused = of_all(&here).wait(WAIT).acquire().await.unwrap_err();
    let AcquireError::Busy(busy) = refused else { panic!("{refused}") };
    assert!((WAIT..WAIT + Duration::from_secs(1)).contains(&began.elapsed()));
    assert!(busy.waited() >= WAIT, "{:?}", busy.waited());
    assert_eq!(held(&there).await, 1);
}

#[tokio::test(start_paused = true)]
async fn one_refusal_is_reported_for_each_member_after_two_attempts() {
    let (stores, [mut here, there]) = three_stores();
    let (granted, refused) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    for (client, store) in here.iter_mut().zip(&stores) {
        let (granted, refused) = (Arc::clone(&granted), Arc::clone(&refused));
        let count = move |event: LockEvent<'_>| {
            match event {
                LockEvent::Granted(_) => granted.fetch_add(1, Ordering::SeqCst),
                LockEvent::Refused(_) => refused.fetch_add(1, Ordering::SeqCst),
                _ => 0,
            };
        };
        *client = LockClient::builder().observer(count).in_memory_on(store);
    }
    // The third store refuses an attempt that does not wait, after the other two have granted theirs,
    // and then one that waits at it, before the others.
    let _theirs = there[2].write("k").acquire().await.unwrap();
    assert!(of_all(&here).wait(WAIT).acquire().await.is_err());
    assert_eq!([granted, refused].map(|count| count.load(Ordering::SeqCst)), [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn opposite_orders_never_wait_for_each_other() {
    let (_, [here, there]) = three_stores();
    let turns = async |clients: &[LockClient], reversed: bool| {
        for _ in 0..100 {
            let mut members: Vec<_> = clients.iter().map(|client| client.write("k")).collect();
            if reversed {
                members.reverse();
            }
            let guard = clients[0].multi_lock(members).wait(WAIT).acquire().await.unwrap();
            sleep(MOMENT).await;
            guard.release().await.unwrap();
        }
    };
    let all = [turns(&here, false), turns(&there, true)];
    tokio::join!(turns(&here, true), turns(&there, false), futures_util::future::join_all(all));
    assert_eq!(held(&there).await, 0);
}

#[tokio::test(start_paused = true)]
async fn several_keys_of_each_and_kinds_of_all_sorts() {
    let (_, [here, there]) = three_stores();
    let members = |clients: &[LockClient]| {
        let one = [clients[0].write("b").into(), clients[0].fair("a").into()];
        let two = [clients[1].read("b").into(), clients[1].semaphore("s", 1).permit().into()];
        clients[2].multi_lock([one, two].into_iter().flatten().collect::<Vec<lock_core::Member>>())
    };
    let guard = members(&here).acquire().await.unwrap();
    let keys: Vec<_> = guard.keys().map(ToString::to_string).collect();
    assert_eq!(keys, ["a", "b", "b", "s"]);
    assert!(members(&there).try_acquire().await.is_err());
    assert!(there[1].read("b").try_acquire().await.is_ok(), "it reads");
    guard.release().await.unwrap();
    members(&there).try_acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_first_that_is_lost_ends_it() {
    let (stores, [here, there]) = three_stores();
    let guard = of_all(&here).acquire().await.unwrap();
    stores[1].remove(&"k".try_into().unwrap());
    let lost = guard.protect(std::future::pending::<()>()).await.unwrap_err();
    assert_eq!(lost.cause(), LostCause::Refused);
    assert!(!guard.is_held());
    assert!(guard.release().await.is_err());
    assert_eq!(held(&there).await, 0, "the others are released");
}

#[tokio::test(start_paused = true)]
async fn a_scope_enters_again_what_it_holds() {
    let (_, [here, there]) = three_stores();
    let scope = here[0].scope();
    let outer = here[1].write("k").in_scope(&scope).acquire().await.unwrap();
    let guard = of_all(&here).in_scope(&scope).acquire().await.unwrap();
    assert_eq!(guard.views().nth(1).unwrap().fencing_token(), outer.fencing_token());
    guard.release().await.unwrap();
    assert_eq!(held(&there).await, 1);
    outer.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_leaves_nothing() {
    let (stores, [mut here, there]) = three_stores();
    let link = Arc::<ConstantFaults>::default();
    here[1] = faulty(LockClient::builder(), &stores[1], Arc::clone(&link) as _);
    link.set(Delivery { taken: Some(Duration::ZERO), answered: None });
    let refused = of_all(&here).wait(WAIT).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    link.set(Delivery::AT_ONCE);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(held(&there).await, 0);
}

#[tokio::test(start_paused = true)]
async fn cancelled_at_any_poll_it_leaves_nothing() {
    for polls in 0..200 {
        let (_, [here, there]) = three_stores();
        let theirs = there[2].write("k").acquire().await.unwrap();
        let mut waiting = Box::pin(of_all(&here).wait(WAIT).acquire());
        let mut ended = false;
        for _ in 0..polls {
            ended = (&mut waiting).now_or_never().is_some();
            if ended {
                break;
            }
            sleep(MOMENT * 5).await;
        }
        drop(waiting);
        theirs.release().await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(held(&there).await, 0, "after {polls} polls");
        assert!(!ended);
    }
}
