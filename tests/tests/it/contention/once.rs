//! Single flight among processes: one fill for a thousand callers, and its replacement.

use lock_core::Mode;
use lock_tests::{LIMIT, Wire, eventually, on_every_wire};

use super::crowd::{Crowd, LONG};

on_every_wire! {
    a_thousand_callers_of_four_processes_fill_once
    a_filler_that_is_killed_is_replaced_after_its_lease
}

const PROCESSES: usize = 4;
const CALLERS: u64 = 1_000;

/// The commands of the members' own checks and fills, and those of this test.
const NOT_OF_LOCKS: [&str; 5] = ["lindex", "rpush", "xadd", "info", "config|resetstat"];

async fn a_thousand_callers_of_four_processes_fill_once(wire: Wire) {
    let crowd = Crowd::start(wire, PROCESSES).await;
    crowd.cli.reset_stats().await;
    let each = CALLERS / crowd.members.len() as u64;
    for member in &crowd.members {
        member.say(&format!("once k result log {each} 300 30000"));
    }
    let mut results = Vec::new();
    for member in &crowd.members {
        results.push(member.line("once ", LONG).await);
    }
    let fills = crowd.log("log").await;
    let [filler] = fills.as_slice() else { panic!("{fills:?}") };
    assert_eq!(results, vec![format!("once {filler}"); PROCESSES]);
    let mut counts = crowd.cli.command_counts().await;
    counts.retain(|name, _| !NOT_OF_LOCKS.contains(&name.as_str()));
    // Those inside scripts count too. Without a leader in each process it would be several for each caller.
    let sent: u64 = counts.values().sum();
    println!("{}: {sent} commands for {CALLERS} callers: {counts:?}", wire.name());
    assert!(sent < CALLERS / 2, "{sent}: {counts:?}");
}

async fn a_filler_that_is_killed_is_replaced_after_its_lease(wire: Wire) {
    let crowd = Crowd::start(wire, PROCESSES).await;
    let (filler, others) = crowd.members.split_first().unwrap();
    let forever = LONG.as_millis() * 10;
    filler.say(&format!("once k result log 50 {forever} 2000"));
    eventually("it fills", LIMIT, async || crowd.log("log").await.len() == 1).await;
    for member in others {
        member.say("once k result log 50 50 2000");
    }
    let readers = vec![Mode::Read; others.len()];
    eventually("one of each process waits", LIMIT, async || crowd.waiting().await == readers).await;
    filler.kill();
    let mut results = Vec::new();
    for member in others {
        results.push(member.line("once ", LONG).await);
    }
    let fills = crowd.log("log").await;
    let [killed, replacement] = fills.as_slice() else { panic!("{fills:?}") };
    assert_ne!(killed, replacement);
    assert_eq!(results, vec![format!("once {replacement}"); others.len()]);
}
