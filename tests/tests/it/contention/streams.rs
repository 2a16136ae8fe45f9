//! Neither continuous readers keep a writer out, nor continuous writers a reader.

use lock_tests::eventually;

use crate::contention::crowd::{Crowd, LONG};

/// Those that wait, as Redis has them: `mode:owner`, with spaces between.
async fn waiting(crowd: &Crowd) -> String {
    crowd.cli.hash("lock_waiters:{lock:k}").await.into_keys().collect::<Vec<_>>().join(" ")
}

/// Eight processes of which some always have the lock, and one of the other mode.
async fn let_in(many: &str, one: &str) {
    let crowd = Crowd::start(9).await;
    let (single, stream) = crowd.members.split_first().unwrap();
    for member in stream {
        member.say(&format!("stream {many} k log stop"));
    }
    eventually("all of them are at it", LONG, async || crowd.log("log").await.len() > 100).await;

    let word = format!("{one}:");
    single.say(&format!("stream {one} k single stop_single"));
    eventually("it waits, or had the lock already", LONG, async || {
        waiting(&crowd).await.contains(&word) || crowd.log("single").await.len() >= 2
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

#[tokio::test]
async fn a_writer_is_let_in_among_eight_processes_of_readers() {
    let_in("read", "write").await;
}

#[tokio::test]
async fn a_reader_is_let_in_among_eight_processes_of_writers() {
    let_in("write", "read").await;
}

#[tokio::test]
async fn a_marked_writer_precedes_later_readers() {
    let crowd = Crowd::start(9).await;
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
            if waiting(&crowd).await.contains("write:") {
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
