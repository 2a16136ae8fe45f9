//! The work of Redis each time that a lock passes from one process to another.

use futures_util::future::join_all;
use lock_tests::{Executed, figures::Spread};

use crate::{
    report::{Curve, Goal, Line, Report},
    setup::BenchSetup,
    subject::Name,
};

/// Clients that contend, each with its own connections as in another process, and the most
/// instructions that a turn may take.
const PROCESSES: [(usize, Goal); 5] = [
    (2, Goal::Reported),
    (4, Goal::AtMost(330_000.0)),
    (8, Goal::Reported),
    (16, Goal::AtMost(420_000.0)),
    (33, Goal::AtMost(973_000.0)),
];

pub(super) async fn contended_turn(world: &BenchSetup) -> Report {
    let mut lines = [Name::Lock, Name::GrantedByHand]
        .map(|name| (name, Line { title: name.title(), points: Vec::new() }));
    let mut report = Report::default();
    for (processes, goal) in PROCESSES {
        for (name, line) in &mut lines {
            let mut counts = Vec::new();
            for _ in 0..world.count(3, 1) {
                counts.push(turn(*name, processes).await);
            }
            let turn = Spread::of(counts);
            line.points.push((processes as f64, turn));
            if *name == Name::Lock {
                let part = format!("{processes} processes: Redis' instructions a turn");
                report.ratio("contended_turn", part, turn, goal);
            }
        }
    }
    report.curves.push(Curve {
        name: "contended_turn",
        title: "One hot key: Redis' work by waiting processes",
        x: "processes",
        y: "Redis' instructions a turn",
        lines: lines.map(|(_, line)| line).into(),
    });
    report
}

async fn turn(name: Name, processes: usize) -> f64 {
    let work = async |server, count| {
        let url = format!("redis://{server}");
        let mut clients = Vec::new();
        for _ in 0..processes {
            clients.push(name.connect(&url).await);
        }
        let take_turns = clients.iter().map(async |client| {
            for _ in 0..count / processes {
                let held = client.take("turns").await;
                client.give_back(held).await;
            }
            client.settled().await;
        });
        join_all(take_turns).await;
    };
    Executed::in_redis(processes, work).await.instructions
}
