//! A semaphore's permits, one to three at once, among processes.

use lock_tests::{LIMIT, Wire, bounded, on_every_wire};
use tokio::time::{Duration, sleep};

use super::crowd::{Crowd, LONG, a_reservation_lapsed};

on_every_wire! {
    never_more_than_there_are_are_in_use
    waiters_of_one_weight_are_served_in_order_of_arrival
    a_killed_holders_permits_are_back_after_its_lease
}

const PERMITS: usize = 3;
const PROCESSES: usize = 4;
const HOLDS: usize = 10_000;

/// The witness is a counter that none of the scripts knows.
async fn never_more_than_there_are_are_in_use(wire: Wire) {
    let crowd = Crowd::start(wire, PROCESSES).await;
    let turns = HOLDS / PROCESSES;
    for member in &crowd.members {
        member.say(&format!("count k {PERMITS} {turns} in_use"));
    }
    for member in &crowd.members {
        let said = member.line("count", LONG).await;
        assert_eq!(said, "counted");
    }
    assert_eq!(crowd.cli.string("in_use").await.as_deref(), Some("0"));
}

/// So many wait at the store.
async fn waiting(crowd: &Crowd, count: usize) {
    bounded(LIMIT, async {
        while crowd.waiting().await.len() < count {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

async fn waiters_of_one_weight_are_served_in_order_of_arrival(wire: Wire) {
    let log = bounded(LONG, async {
        loop {
            let log = served(wire).await;
            // Else a waiter was too slow to retry, and has lost its place.
            if !a_reservation_lapsed(&log) {
                return log;
            }
        }
    });
    let log: Vec<_> = log.await.into_iter().map(|(_, line)| line).collect();
    let when = |what: &str, name: usize| {
        let line = format!("{what} {name}");
        log.iter().position(|logged| *logged == line).unwrap_or_else(|| panic!("{log:?}"))
    };
    // Several may have permits together, so none of the same weight has gone before an earlier one came.
    for (later, weight) in WEIGHTS.iter().enumerate() {
        for earlier in (0..later).filter(|earlier| WEIGHTS[*earlier] == *weight) {
            assert!(when("has", earlier) < when("gives", later), "{earlier} and {later}: {log:?}");
        }
    }
}

/// What each waiter wants, in order of arrival.
const WEIGHTS: [u32; 8] = [1, 2, 3, 1, 2, 3, 1, 2];

/// The log of one process for each weight.
async fn served(wire: Wire) -> Vec<(u64, String)> {
    let crowd = Crowd::start(wire, 1 + WEIGHTS.len()).await;
    let (holder, members) = crowd.members.split_first().unwrap();
    holder.say(&format!("keep k {PERMITS} {PERMITS} 60000"));
    holder.line("kept", LIMIT).await;
    for (at, (member, weight)) in members.iter().zip(WEIGHTS).enumerate() {
        member.say(&format!("take k {PERMITS} {weight} log {at}"));
        waiting(&crowd, at + 1).await;
    }
    crowd.write("log", "gives all").await;
    crowd.force_release().await;
    for member in members {
        member.line("took", LONG).await;
    }
    crowd.timed_log("log").await
}

async fn a_killed_holders_permits_are_back_after_its_lease(wire: Wire) {
    let crowd = Crowd::start(wire, 2).await;
    crowd.members[0].say(&format!("keep k {PERMITS} 2 2000"));
    crowd.members[0].line("kept", LIMIT).await;
    crowd.members[1].say(&format!("take k {PERMITS} {PERMITS} log all"));
    waiting(&crowd, 1).await;
    crowd.members[0].kill();
    crowd.members[1].line("took all", LIMIT).await;
}
