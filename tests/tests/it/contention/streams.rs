//! Neither continuous readers keep a writer out, nor continuous writers a reader.

use lock_core::Mode;
use lock_tests::{Wire, eventually, on_every_wire};

use crate::contention::crowd::{Crowd, LONG};

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

async fn a_marked_writer_precedes_later_readers(wire: Wire) {
    let crowd = Crowd::start(wire, 9).await;
    let (writer, readers) = crowd.members.split_first().unwrap();
    for reader in readers {
        reader.say("stream read k log stop");
    }
    eventually("all of them are at it", LONG, async || crowd.log("log").await.len() > 100).await;
    for round in 0..10 {
        let name = format!("writer:{round}");
        writer.say(&format!("turn read_write k log {name}"));
        let marked = format!("marked:{round}");
        eventually("it waits, or its turn has come", LONG, async || {
            if crowd.waiting().await.contains(&Mode::Write) {
                let _length: i64 = crowd.cli.query(&["RPUSH", "log", &marked]).await;
                return true;
            }
            crowd.log("log").await.contains(&name)
        })
        .await;
        writer.line(&format!("turned {name}"), LONG).await;
    }
    let () = crowd.cli.query(&["SET", "stop", "1"]).await;
    for reader in readers {
        reader.line("streamed", LONG).await;
    }

    let log = crowd.log("log").await;
    let at = |line: &str| log.iter().position(|other| other == line);
    let mut rounds = 0;
    for round in 0..10 {
        let granted = at(&format!("writer:{round}")).unwrap();
        let Some(marked) = at(&format!("marked:{round}")).filter(|marked| *marked < granted) else {
            continue;
        };
        rounds += 1;
        let asked = log[marked..granted].iter().filter_map(|line| line.strip_prefix("asks "));
        for reader in asked {
            let has = at(&format!("has {reader}")).unwrap();
            assert!(has > granted, "{reader} went before writer {round}: {:?}", &log[marked..=has]);
        }
    }
    assert!(rounds > 0, "no writer was ever seen waiting: {log:?}");
}
