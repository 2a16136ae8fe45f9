//! Neither continuous readers keep a writer out, nor continuous writers a reader.

use lock_core::Mode;
use lock_tests::{Process, Wire, bounded, eventually, on_every_wire};

use crate::contention::crowd::{Crowd, LONG, a_reservation_lapsed};

on_every_wire! {
    a_writer_is_let_in_among_eight_processes_of_readers
    a_reader_is_let_in_among_eight_processes_of_writers
    a_marked_writer_precedes_later_readers
}

/// Eight processes of which some always have the lock, and one of the other mode.
async fn let_in(wire: Wire, many: Mode, one: Mode) {
    let crowd = Crowd::start(wire, 9).await;
    let (single, stream) = crowd.members.split_first().unwrap();
    for member in stream {
        member.say(&format!("stream {many} k log stop"));
    }
    eventually("all of them are at it", LONG, async || crowd.log("log").await.len() > 100).await;

    single.say(&format!("stream {one} k single stop_single"));
    eventually("it waits, or had the lock already", LONG, async || {
        crowd.waiting().await.contains(&one) || crowd.log("single").await.len() >= 2
    })
    .await;
    // For as many turns as it takes to have it wait at least once.
    eventually("it has had many turns", LONG, async || crowd.log("single").await.len() > 20).await;
    let () = crowd.cli.query(&["SET", "stop_single", "1"]).await;
    single.line("streamed", LONG).await;
    let () = crowd.cli.query(&["SET", "stop", "1"]).await;
    for member in stream {
        member.line("streamed", LONG).await;
    }
}

async fn a_writer_is_let_in_among_eight_processes_of_readers(wire: Wire) {
    let_in(wire, Mode::Read, Mode::Write).await;
}

async fn a_reader_is_let_in_among_eight_processes_of_writers(wire: Wire) {
    let_in(wire, Mode::Write, Mode::Read).await;
}

/// At least, and until it was seen once.
const ROUNDS: usize = 10;

async fn a_marked_writer_precedes_later_readers(wire: Wire) {
    let crowd = Crowd::start(wire, 9).await;
    let (writer, readers) = crowd.members.split_first().unwrap();
    for reader in readers {
        reader.say("stream read k log stop");
    }
    eventually("all of them are at it", LONG, async || crowd.log("log").await.len() > 100).await;
    bounded(LONG, async {
        let (mut round, mut seen) = (0, false);
        while round < ROUNDS || !seen {
            seen |= precedes(&crowd, writer, round).await;
            round += 1;
        }
    })
    .await;
    let () = crowd.cli.query(&["SET", "stop", "1"]).await;
    for reader in readers {
        reader.line("streamed", LONG).await;
    }
}

/// A writer waits, and no reader that comes after it is granted the lock first. Returns whether this
/// was seen. It is not if the writer did not wait, or was so slow to retry that it lost its place.
async fn precedes(crowd: &Crowd, writer: &Process, round: usize) -> bool {
    let (name, marked) = (format!("writer:{round}"), format!("marked:{round}"));
    writer.say(&format!("turn read_write k log {name}"));
    eventually("it waits, or its turn has come", LONG, async || {
        if crowd.waiting().await.contains(&Mode::Write) {
            crowd.write("log", &marked).await;
            return true;
        }
        crowd.log("log").await.contains(&name)
    })
    .await;
    writer.line(&format!("turned {name}"), LONG).await;

    let log = crowd.timed_log("log").await;
    let at = |line: &str| log.iter().position(|(_, other)| other == line);
    let granted = at(&name).unwrap();
    let Some(marked) = at(&marked).filter(|marked| *marked < granted) else { return false };
    let came = log[marked..granted].iter().filter_map(|(_, line)| line.strip_prefix("requests "));
    let passed_by = came.filter_map(|reader| at(&format!("has {reader}"))).min();
    let Some(passed_by) = passed_by.filter(|has| *has < granted) else { return true };
    // From the last return before the mark on.
    let returned = log[..marked].iter().rposition(|(_, line)| line.starts_with("gives "));
    assert!(
        a_reservation_lapsed(&log[returned.unwrap_or(0)..=passed_by]),
        "a reader went before writer {round}: {:?}",
        &log[marked..=granted]
    );
    false
}
