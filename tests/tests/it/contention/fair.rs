//! First come first served, across processes.

use std::time::Duration;

use lock_tests::{Process, Stopwatch, eventually};

use crate::contention::crowd::{Crowd, LONG};

/// How long a silent waiter keeps its place.
const PLACE: Duration = Duration::from_secs(3);
/// For a message to another process and its try.
const A_MOMENT: Duration = Duration::from_millis(500);

const QUEUE: &str = "redisson_lock_queue:{lock:k}";
const DEADLINES: &str = "redisson_lock_timeout:{lock:k}";
const LINE: &str = "lock_waiters:{lock:k}";

/// A hundred waiters of ten processes, each known to be in line before the next one requests the
/// lock. So many waiters make so many `entries` of its line.
async fn in_order_of_arrival(
    kind: &str,
    line: &str,
    count: &str,
    entries: impl Fn(usize) -> usize,
) {
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
            length == entries(waiter + 1)
        })
        .await;
        arrived.push(name);
    }
    holder.say("release");
    for (waiter, name) in arrived.iter().enumerate() {
        crowd.members[waiter % 10].line(&format!("turned {name}"), LONG).await;
    }
    assert_eq!(crowd.log("log").await, arrived);
    assert!(!crowd.cli.exists(line).await, "no waiter is in line any more");
}

#[tokio::test]
async fn waiters_of_ten_processes_are_served_in_order_of_arrival() {
    in_order_of_arrival("fair", QUEUE, "LLEN", |waiters| waiters).await;
}

#[tokio::test]
async fn so_are_those_of_a_fair_read_write_lock() {
    // The line has an entry that marks its kind, and two of each writer.
    in_order_of_arrival("fair_read_write", LINE, "ZCARD", |waiters| 1 + 2 * waiters).await;
}

#[tokio::test]
async fn a_dead_head_costs_its_place_ttl_and_not_five_minutes() {
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
    let died = Stopwatch::start();
    holder.say("release");
    died.within(PLACE + A_MOMENT, next.line("turned it", LONG)).await;
    let now: Vec<f64> = crowd.cli.query(&["TIME"]).await;
    assert!(deadline > now[0] * 1000.0, "by Redisson's deadline the dead one stood in line still");
}

/// Sixty waiters of one process give up at once.
async fn leave_in_few_commands(kind: &str, line: &str, count: &str, entries: usize) {
    const WAITERS: usize = 60;
    let crowd = Crowd::start(2).await;
    let [holder, waits] = crowd.members.as_slice() else { panic!("two") };
    holder.say(&format!("hold {kind} k"));
    holder.line("held", LONG).await;
    waits.say(&format!("wait {kind} k {WAITERS}"));
    let in_line = async |wanted: usize| {
        let length: usize = crowd.cli.query(&[count, line]).await;
        length == wanted
    };
    let empty: usize = entries - entries / WAITERS * WAITERS;
    eventually("all stand in line", LONG, async || in_line(entries).await).await;
    crowd.cli.reset_stats().await;
    waits.say("leave");
    eventually("none stands in line", LONG, async || in_line(empty).await).await;
    // Of the scripts that run here only those by which waiters leave look whether the lock is there,
    // each once.
    let commands = crowd.cli.calls("exists").await;
    assert!((1..=10).contains(&commands), "{commands} commands for {WAITERS} waiters");
}

#[tokio::test]
async fn waiters_that_give_up_at_once_leave_in_few_commands() {
    leave_in_few_commands("fair", QUEUE, "LLEN", 60).await;
}

#[tokio::test]
async fn so_do_those_of_a_fair_read_write_lock() {
    leave_in_few_commands("fair_read_write", LINE, "ZCARD", 1 + 2 * 60).await;
}

/// Three processes with 18 tasks each on one key, most of which give up after 0 to 100 ms: the lock
/// goes round, none is refused as overloaded, since far fewer wait than may, and none that stays is
/// passed by for longer than a moment. How fast it goes round the program says: see its own text.
async fn goes_round_though_waiters_leave(kind: &str) {
    for ending in ["wait", "drop"] {
        let program = Process::builder(env!("CARGO_BIN_EXE_leaving_waiters"));
        let program = program.arg("--kind").arg(kind).arg("--ending").arg(ending);
        let program = program.arg("--seconds").arg("3").start();
        let row = program.line(&format!("{kind} | "), LONG).await;
        println!("{row}");
        let figures: Vec<f64> =
            row.split(" | ").skip(1).map(|figure| figure.parse().unwrap()).collect();
        let [grants, idle_ms, overloaded, .., overtaken_ms] = figures.as_slice() else {
            panic!("{row}");
        };
        assert!(*grants > 0.0 && *overloaded == 0.0, "{row}");
        // A busy machine loses half a second now and then.
        assert!(*idle_ms < 3_000.0 && *overtaken_ms < 1_000.0, "{row}");
    }
}

#[tokio::test]
async fn a_fair_lock_goes_round_though_waiters_leave() {
    goes_round_though_waiters_leave("fair").await;
}

#[tokio::test]
async fn so_does_a_fair_read_write_lock() {
    goes_round_though_waiters_leave("fair_read_write").await;
}
