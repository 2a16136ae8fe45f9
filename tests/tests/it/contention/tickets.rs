//! Holds that change hands between processes, while others want the lock and replay the tickets.

use lock_tests::{Wire, on_every_wire};

use super::crowd::{Crowd, LONG};

on_every_wire! {
    every_ticket_is_resumed_once_and_no_holds_overlap
}

const TICKETS: usize = 1_000;

/// The witness is a counter that none of the scripts knows: one for as long as the lock is held or
/// parked.
async fn every_ticket_is_resumed_once_and_no_holds_overlap(wire: Wire) {
    let crowd = Crowd::start(wire, 4).await;
    let [parks, resumes, replays, wants] = crowd.members.as_slice() else { unreachable!() };
    wants.say("want k inside done");
    resumes.say(&format!("resume k inside tickets {TICKETS}"));
    replays.say(&format!("resume k inside copies {TICKETS}"));
    parks.say(&format!("park k inside tickets copies {TICKETS}"));
    assert_eq!(parks.line("park", LONG).await, "parked");
    let mut resumed = 0;
    for member in [resumes, replays] {
        let line = member.line("resumed", LONG).await;
        resumed += line.split(' ').nth(1).unwrap().parse::<usize>().unwrap();
    }
    crowd.set("done").await;
    let wanted = wants.line("wanted", LONG).await;
    assert_eq!(resumed, TICKETS, "each once, by either");
    assert_ne!(wanted, "wanted 0", "the lock was free in between");
    assert_eq!(crowd.cli.string("inside").await.as_deref(), Some("0"));
    let tokens = crowd.log("tokens").await;
    assert_eq!(tokens.len(), TICKETS);
    let numbers: Vec<u64> = tokens.iter().map(|token| token.parse().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "the tokens of the grants");
}
