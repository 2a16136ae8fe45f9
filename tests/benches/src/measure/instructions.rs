//! Instructions and allocations, counted by callgrind. Unlike times they hardly differ from run to
//! run.

use futures_util::future::join_all;
use lock_tests::{Executed, figures::Spread};

use crate::{
    report::{Goal, Report, Table, figure},
    subject::Name,
};

const NAME: &str = "instructions";
/// Of the keys in turn, so that a key comes again long after it was released.
const KEYS: usize = 1_024;

/// Counts of one thing, and the name of its row.
type Row = (String, Executed);

pub(super) async fn instructions() -> Report {
    let mut report = Report::default();
    let mut rows = requests(&mut report).await;
    rows.append(&mut free_locks(&mut report).await);
    rows.append(&mut free_locks_in_redis(&mut report).await);
    let row = |(title, executed): &Row| {
        vec![title.clone(), figure(executed.instructions), figure(executed.allocations)]
    };
    report.tables.push(Table {
        title: "Instructions",
        note:
            "Each thing is repeated N and 2N times; the figures are the difference, divided by N. \
               Instructions of the allocator are left out."
                .to_owned(),
        columns: vec!["of", "instructions", "allocations"],
        rows: rows.iter().map(row).collect(),
    });
    report
}

async fn requests(report: &mut Report) -> Vec<Row> {
    let [bare, by_hand, layer] = [
        Executed::in_client("request", 1).await,
        Executed::in_client("request-by-hand", 1).await,
        Executed::in_client("request-under-layer", 1).await,
    ];
    let (ours, theirs) = (layer - bare, by_hand - bare);
    let instructions = once(ours.instructions / theirs.instructions);
    let part = "client: request under the layer above no lock, of by hand";
    report.ratio(NAME, part, instructions, Goal::AtMost(1.3));
    let allocations = once(ours.allocations / theirs.allocations);
    let part = "client: request under the layer above no lock, allocations, of by hand";
    report.ratio(NAME, part, allocations, Goal::AtMost(1.0));
    vec![
        ("request without a lock".to_owned(), bare),
        ("request, hand-rolled in the handler".to_owned(), by_hand),
        ("request, **lock-tower's layer**".to_owned(), layer),
    ]
}

async fn free_locks(report: &mut Report) -> Vec<Row> {
    let mut rows = Vec::new();
    for (tasks, title, instructions, allocations) in
        [(64, "64 tasks", 0.75, 8.0), (1, "one task", 1.0, 12.0)]
    {
        let by_hand = Executed::in_client("by-hand", tasks).await;
        let lock = Executed::in_client("lock", tasks).await;
        let ratio = once(lock.instructions / by_hand.instructions);
        let part = format!("client: free lock, {title}, of by hand");
        report.ratio(NAME, part, ratio, Goal::AtMost(instructions));
        let part = format!("client: free lock, {title}, allocations");
        report.ratio(NAME, part, once(lock.allocations), Goal::AtMost(allocations));
        rows.push((format!("free lock, {title}, hand-rolled"), by_hand));
        rows.push((format!("free lock, {title}, **lock-tower**"), lock));
    }
    rows
}

async fn free_locks_in_redis(report: &mut Report) -> Vec<Row> {
    let mut rows = Vec::new();
    for (tasks, title, native, redissons) in
        [(8, "batches of 8", 0.8, 1.25), (1, "one task", 1.2, 1.5)]
    {
        for (ours, by_hand, of, goal) in [
            (Name::Lock, Name::HandRolled, "of by hand", native),
            (
                Name::RedissonsWire,
                Name::RedissonsHash,
                "Redisson's wire, of its hash by hand",
                redissons,
            ),
        ] {
            let theirs = cycle(by_hand, tasks).await;
            let executed = cycle(ours, tasks).await;
            let ratio = once(executed.instructions / theirs.instructions);
            let part = format!("Redis: free lock, {title}, {of}");
            report.ratio(NAME, part, ratio, Goal::AtMost(goal));
            for (name, executed) in [(by_hand, theirs), (ours, executed)] {
                rows.push((format!("Redis, free lock, {title}: {}", name.title()), executed));
            }
        }
    }
    rows
}

/// Counts the work of Redis for a free lock: in each round that many tasks acquire together, then all
/// releases are sent, and answered before the next round.
async fn cycle(name: Name, tasks: usize) -> Executed {
    let work = async |server, count| {
        let subject = name.connect(&format!("redis://{server}")).await;
        for round in 0..count / tasks {
            let keys: Vec<String> =
                (0..tasks).map(|task| format!("cycle-{}", (round * tasks + task) % KEYS)).collect();
            let held = join_all(keys.iter().map(|key| subject.take(key))).await;
            join_all(held.into_iter().map(|held| subject.give_back_awaited(held))).await;
        }
    };
    Executed::in_redis(tasks, work).await
}

fn once(value: f64) -> Spread {
    Spread::of([value])
}
