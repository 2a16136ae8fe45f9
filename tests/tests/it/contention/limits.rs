//! Two limits and a lock, acquired in one step by four processes.

use std::time::Duration;

use lock_tests::{LIMIT, Wire, eventually, on_every_wire};

use crate::contention::crowd::{Crowd, LONG};

on_every_wire! {
    two_limits_and_a_lock_are_kept_and_each_that_wants_them_has_its_share
}

/// Each process has three tasks: one wants a permit of all, one a permit of the tenant too, and one the
/// report too. They share `ACQUISITIONS`, 1,000 unless that is set. The witness is one counter in Redis for
/// each limit and for the report, which a holder raises and lowers by itself.
async fn two_limits_and_a_lock_are_kept_and_each_that_wants_them_has_its_share(wire: Wire) {
    const WANTED: [&str; 3] = ["all", "tenant", "report"];
    let most = std::env::var("ACQUISITIONS").map_or(1_000, |number| number.parse().unwrap());
    let crowd = Crowd::start(wire, 4).await;
    for member in &crowd.members {
        for wanted in WANTED {
            member.say(&format!("limits {wanted} {most}"));
        }
    }
    let mut granted = [0_u64; WANTED.len()];
    let mut passed = [0_u64; WANTED.len()];
    for member in &crowd.members {
        for (nth, wanted) in WANTED.into_iter().enumerate() {
            // One that fails prints no such line: of a limit that is exceeded, what it has seen.
            let line = member.line(&format!("limited {wanted} "), 4 * LONG).await;
            let numbers: Vec<u64> =
                line.split(' ').skip(2).map(|number| number.parse().unwrap()).collect();
            granted[nth] += numbers[0];
            passed[nth] = passed[nth].max(numbers[1]);
        }
    }
    let all: u64 = granted.iter().sum();
    println!("{wire:?}: granted {granted:?} of {WANTED:?}; most others before one {passed:?}");
    assert!(all >= most, "{granted:?}");
    // A third of the tasks wants all three locks, of which the report has one holder at a time: a quarter of
    // an equal share at least, and none of them waits for half of the run.
    assert!(granted[2] * 12 >= all, "{granted:?} of {WANTED:?}");
    assert!(passed[2] * 2 < all, "{passed:?} others before one of {WANTED:?}");
    for counter in ["in_use:all", "in_use:tenant", "in_use:report"] {
        assert_eq!(crowd.cli.string(counter).await.unwrap(), "0", "{counter}");
    }
    for key in ["exports", "exports:acme", "report:7"] {
        let free = async || crowd.is_free(key).await;
        eventually(key, LIMIT + Duration::from_secs(5), free).await;
    }
}
