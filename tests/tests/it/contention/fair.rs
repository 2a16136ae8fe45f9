//! First come first served, across processes.

use std::time::Duration;

use lock_tests::{Process, Stopwatch, Wire, eventually, on_every_wire};

use crate::contention::crowd::{Crowd, LONG};

on_every_wire! {
    waiters_of_ten_processes_are_served_in_order_of_arrival
    so_are_those_of_a_fair_read_write_lock
    a_dead_head_costs_its_place_ttl_and_not_five_minutes
    waiters_that_give_up_at_once_leave_in_few_commands
    so_do_those_of_a_fair_read_write_lock
    a_fair_lock_goes_round_though_waiters_leave
    so_does_a_fair_read_write_lock
}

/// How long a silent waiter keeps its place.
const PLACE: Duration = Duration::from_secs(3);
/// For a message to another process and its try.
const A_MOMENT: Duration = Duration::from_millis(500);

/// The name of the line of a fair lock `k`.
fn line_of(wire: Wire, kind: &str) -> &'static str {
    match (wire, kind) {
        (Wire::Native, _) => "lock_places:{lock:k}",
        (Wire::Redisson, "fair") => "redisson_lock_queue:{lock:k}",
        (Wire::Redisson, _) => "lock_waiters:{lock:k}",
    }
}

/// How many waiters stand in the line, dead or alive.
async fn in_line(crowd: &Crowd, wire: Wire, kind: &str) -> usize {
    let line = line_of(wire, kind);
    match (wire, kind) {
        (Wire::Native, _) => crowd.cli.query(&["ZCARD", line]).await,
        (Wire::Redisson, "fair") => crowd.cli.query(&["LLEN", line]).await,
        // The line has an entry that marks its kind, and two of each writer.
        (Wire::Redisson, _) => crowd.cli.query::<usize>(&["ZCARD", line]).await / 2,
    }
}

/// A hundred waiters of ten processes, each known to be in line before the next one requests the
/// lock.
async fn in_order_of_arrival(wire: Wire, kind: &str) {
    let crowd = Crowd::start(wire, 10).await;
    let holder = &crowd.members[0];
    holder.say(&format!("hold {kind} k"));
    holder.line("held", LONG).await;
    let mut arrived = Vec::new();
    for waiter in 0..100 {
        let name = format!("w{waiter}");
        crowd.members[waiter % 10].say(&format!("turn {kind} k log {name}"));
        eventually("it stands in line", LONG, async || {
            in_line(&crowd, wire, kind).await == waiter + 1
        })
        .await;
        arrived.push(name);
    }
    holder.say("release");
    for (waiter, name) in arrived.iter().enumerate() {
        crowd.members[waiter % 10].line(&format!("turned {name}"), LONG).await;
    }
    assert_eq!(crowd.log("log").await, arrived);
    assert!(!crowd.cli.exists(line_of(wire, kind)).await, "no waiter is in line any more");
}

async fn waiters_of_ten_processes_are_served_in_order_of_arrival(wire: Wire) {
    in_order_of_arrival(wire, "fair").await;
}

async fn so_are_those_of_a_fair_read_write_lock(wire: Wire) {
    in_order_of_arrival(wire, "fair_read_write").await;
}

async fn a_dead_head_costs_its_place_ttl_and_not_five_minutes(wire: Wire) {
    let crowd = Crowd::start(wire, 3).await;
    let [holder, dead, next] = crowd.members.as_slice() else { panic!("three") };
    holder.say("hold fair k");
    holder.line("held", LONG).await;
    for (member, place) in [(dead, 1), (next, 2)] {
        member.say("turn fair k log it");
        eventually("it stands in line", LONG, async || {
            in_line(&crowd, wire, "fair").await == place
        })
        .await;
    }
    dead.kill();
    let died = Stopwatch::start();
    holder.say("release");
    died.within(PLACE + A_MOMENT, next.line("turned it", LONG)).await;
}

/// Sixty waiters of one process give up at once.
async fn leave_in_few_commands(wire: Wire, kind: &str) {
    const WAITERS: usize = 60;
    let crowd = Crowd::start(wire, 2).await;
    let [holder, waits] = crowd.members.as_slice() else { panic!("two") };
    holder.say(&format!("hold {kind} k"));
    holder.line("held", LONG).await;
    waits.say(&format!("wait {kind} k {WAITERS}"));
    let in_line = async || in_line(&crowd, wire, kind).await;
    eventually("all stand in line", LONG, async || in_line().await == WAITERS).await;
    crowd.cli.reset_stats().await;
    waits.say("leave");
    eventually("none stands in line", LONG, async || in_line().await == 0).await;
    let commands = match wire {
        // Of the scripts that run here only those by which waiters leave remove places: two removals for
        // each waiter, and one more for each command.
        Wire::Native => crowd.cli.calls("zrem").await.saturating_sub(2 * WAITERS as u64),
        // Of the scripts that run here only those by which waiters leave look whether the lock is
        // there, each once.
        Wire::Redisson => crowd.cli.calls("exists").await,
    };
    assert!((1..=10).contains(&commands), "{commands} commands for {WAITERS} waiters");
}

async fn waiters_that_give_up_at_once_leave_in_few_commands(wire: Wire) {
    leave_in_few_commands(wire, "fair").await;
}

async fn so_do_those_of_a_fair_read_write_lock(wire: Wire) {
    leave_in_few_commands(wire, "fair_read_write").await;
}

/// Three processes with 18 tasks each on one key, most of which give up after 0 to 100 ms: the lock
/// goes round, none is refused as overloaded, since far fewer wait than may, and none that stays is
/// passed by for longer than a moment. How fast it goes round the program says: see its own text.
async fn goes_round_though_waiters_leave(wire: Wire, kind: &str) {
    for ending in ["wait", "drop"] {
        let program = Process::builder(env!("CARGO_BIN_EXE_leaving_waiters"));
        let program = program.arg("--kind").arg(kind).arg("--ending").arg(ending);
        let program = program.arg("--wire").arg(wire.name()).arg("--seconds").arg("3").start();
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

async fn a_fair_lock_goes_round_though_waiters_leave(wire: Wire) {
    goes_round_though_waiters_leave(wire, "fair").await;
}

async fn so_does_a_fair_read_write_lock(wire: Wire) {
    goes_round_though_waiters_leave(wire, "fair_read_write").await;
}
