//! Random schedules: a few actors in a few processes acquire, change and release locks of all
//! kinds, over faulty links. The promises are checked at every grant and at the end.
//!
//! A seed gives the same plan and the same links; only what Tokio, hash maps and RedLock draw for
//! themselves differs, so a rare failure may need a few runs to show again.
//!
//! `LOCK_SCHEDULES` sets how many of each family are tried, `LOCK_SCHEDULES_SEED` the first one's
//! seed.

mod actor;
mod link;
mod plan;
mod promises;
mod schedule;
mod seeded;

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Instant,
};

use schedule::{Family, Report};

/// In total: at least five thousand in every run of the tests.
const OF_EACH: u64 = 1_700;

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

fn run(family: Family) -> Report {
    let (first, count) = (number("LOCK_SCHEDULES_SEED", 1), number("LOCK_SCHEDULES", OF_EACH));
    let (started, mut report) = (Instant::now(), Report::default());
    for seed in first..first + count {
        match catch_unwind(AssertUnwindSafe(|| schedule::run(family, seed))) {
            Ok(one) => report += one,
            Err(panic) => {
                println!("{family:?}: LOCK_SCHEDULES_SEED={seed} LOCK_SCHEDULES=1 shows it again");
                resume_unwind(panic);
            }
        }
    }
    println!("{family:?}: {count} schedules in {:?}: {report:?}", started.elapsed());
    assert!(count < 100 || report.granted > count, "so few grants show nothing: {report:?}");
    report
}

#[test]
fn over_links_that_are_good() {
    run(Family::Good);
}

#[test]
fn over_links_that_lose_steps_and_answers() {
    let report = run(Family::Bad);
    assert!(report.schedules < 100 || report.unavailable > 0 && report.lost > 0, "{report:?}");
}

#[test]
fn readers_that_come_together() {
    let report = run(Family::Readers);
    assert!(report.schedules < 100 || report.unavailable > 0 && report.lost > 0, "{report:?}");
}

#[test]
fn while_machines_are_suspended_and_clients_shut_down() {
    let report = run(Family::Ends);
    assert!(report.schedules < 100 || report.draining > 0 && report.lost > 0, "{report:?}");
}
