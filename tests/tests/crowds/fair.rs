//! First come first served, across processes.

use lock_tests::eventually;

use crate::crowd::{Crowd, LONG};

const QUEUE: &str = "redisson_lock_queue:{lock:k}";
const DEADLINES: &str = "redisson_lock_timeout:{lock:k}";
const LINE: &str = "lock_next:{lock:k}";

/// A hundred waiters of ten processes, each known to stand in line before the next one asks.
async fn in_order_of_arrival(kind: &str, line: &str, count: &str, at_first: usize) {
    let crowd = Crowd::start(10).await;
    let holder = &crowd.members[0];
    holder.say(&format!("hold {kind} k"));
    holder.line("held", LONG).await;
    let mut arrived = Vec::new();
    for waiter in 0..100 {
        let name = format!("w{waiter}");
        crowd.members[waiter % 10].say(&format!("turn {kind} k log {name}"));
        eventually("it stands in line", LONG, async || {
            let length: usize = crowd.cli.query(&[count, line]).await;
            length == at_first + waiter + 1
        })
        .await;
        arrived.push(name);
    }
    holder.say("release");
    for (waiter, name) in arrived.iter().enumerate() {
        crowd.members[waiter % 10].line(&format!("turned {name}"), LONG).await;
    }
    assert_eq!(crowd.log("log").await, arrived);
    assert!(!crowd.cli.exists(line).await, "nobody stands in line any more");
}

#[tokio::test]
async fn a_hundred_waiters_of_ten_processes_are_served_in_order_of_arrival() {
    in_order_of_arrival("fair", QUEUE, "LLEN", 0).await;
}

#[tokio::test]
async fn so_are_those_of_a_fair_read_write_lock() {
    // The line has an entry that says what it is.
    in_order_of_arrival("fair_read_write", LINE, "ZCARD", 1).await;
}

#[tokio::test]
async fn a_dead_head_costs_the_next_its_place_in_line_and_not_redissons_five_minutes() {
    let crowd = Crowd::start(3).await;
    let [holder, dead, next] = crowd.members.as_slice() else { panic!("three") };
    holder.say("hold fair k");
    holder.line("held", LONG).await;
    for (member, place) in [(dead, 1), (next, 2)] {
        member.say("turn fair k log it");
        eventually("it stands in line", LONG, async || {
            let length: i64 = crowd.cli.query(&["LLEN", QUEUE]).await;
            length == place
        })
        .await;
    }
    let head: Vec<String> = crowd.cli.query(&["LRANGE", QUEUE, "0", "0"]).await;
    let deadline: f64 = crowd.cli.query(&["ZSCORE", DEADLINES, &head[0]]).await;
    dead.kill();
    holder.say("release");
    holder.line("released", LONG).await;
    next.line("turned it", LONG).await;
    let now: Vec<f64> = crowd.cli.query(&["TIME"]).await;
    assert!(deadline > now[0] * 1000.0, "by Redisson's deadline the dead one stood in line still");
}
