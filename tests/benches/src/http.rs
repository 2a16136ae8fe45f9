//! A service in a process of its own, with a lock for each request, under load.

mod load;
pub(crate) mod server;

use lock_tests::figures::Spread;

use crate::{
    observer::Spent,
    report::{Goal, Report, Table, figure, spread},
    setup::{BenchSetup, PATIENCE},
};
pub(crate) use server::{Guarded, Serving};

use load::Load;
use server::LISTENING;

const CONNECTIONS: usize = 32;
const COLUMNS: [&str; 7] = [
    "service",
    "requests/s",
    "p50, ms",
    "p99, ms",
    "service CPU per request, us",
    "Redis CPU per request, us",
    "commands sent per request",
];

struct Run {
    load: Load,
    spent: Spent,
    /// Microseconds of processor time of the service.
    service_us: f64,
}

pub(crate) async fn http(world: &BenchSetup) -> Report {
    let mut runs: Vec<(Guarded, Vec<Run>)> =
        Guarded::ALL.into_iter().map(|guarded| (guarded, Vec::new())).collect();
    for _ in 0..world.repeats() {
        for (guarded, runs) in &mut runs {
            runs.push(run(world, *guarded).await);
            // Each request has left the number of its key's last token behind.
            world.observer.empty().await;
        }
    }
    let figures = |of: Guarded, figure: fn(&Run) -> f64| -> Vec<f64> {
        let runs = runs.iter().find(|(guarded, _)| *guarded == of);
        runs.expect("BUG: it was measured").1.iter().map(figure).collect()
    };
    let rate = |of| figures(of, |run| run.load.per_second);
    let slowest = |of| figures(of, |run| run.load.p99_ms);
    let mut report = Report::default();
    let name = "http";
    for (lock, layer) in [("write", Guarded::Layer), ("read", Guarded::LayerRead)] {
        for (other, title, goal) in
            [(Guarded::HandRolled, "hand-rolled", 1.0), (Guarded::Rslock, "rslock", 1.1)]
        {
            let rates = Spread::of_ratios(&rate(layer), &rate(other));
            let part = format!("{lock}: requests/s, of {title}");
            report.ratio(name, part, rates, Goal::AtLeast(goal));
        }
    }
    let p99 = Spread::of_ratios(&slowest(Guarded::Layer), &slowest(Guarded::HandRolled));
    report.ratio(name, "write: p99, of hand-rolled", p99, Goal::AtMost(1.0));
    let rates = Spread::of_ratios(&rate(Guarded::SessionLayer), &rate(Guarded::Sessions));
    let part = "session layer: requests/s, of sessions without a lock";
    report.ratio(name, part, rates, Goal::AtLeast(0.6));
    report.tables.push(table(&runs));
    report
}

async fn run(world: &BenchSetup, guarded: Guarded) -> Run {
    let service = BenchSetup::process(&Serving { guarded, url: world.url.clone() }.words());
    let line = service.line(LISTENING, PATIENCE).await;
    let (_, addr) = line.split_once(LISTENING).expect("BUG: the line has it");
    let addr = addr.parse().expect("an address");
    load::load(addr, CONNECTIONS, world.run() / 5).await;
    let (before, used) = (world.observer.look().await, processor_us(service.pid()));
    let load = load::load(addr, CONNECTIONS, world.run()).await;
    // What is given back after the answer is part of it.
    tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    let spent = world.observer.look().await.since(&before, guarded.sends());
    let service_us = processor_us(service.pid()) - used;
    service.kill();
    Run { load, spent, service_us }
}

/// Of all threads of a process, by the kernel's hundredths of a second.
fn processor_us(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    let stat = stat.expect("/proc, as Linux has it");
    // Its name comes before, in brackets, and may contain anything.
    let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
    let ticks = fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>());
    ticks.map(|ticks| ticks.expect("a number") * 10_000.0).sum()
}

fn table(runs: &[(Guarded, Vec<Run>)]) -> Table {
    let row = |(guarded, runs): &(Guarded, Vec<Run>)| {
        let of = |figure: fn(&Run) -> f64| Spread::of(runs.iter().map(figure));
        vec![
            guarded.title().to_owned(),
            spread(of(|run| run.load.per_second)),
            figure(of(|run| run.load.p50_ms).median),
            spread(of(|run| run.load.p99_ms)),
            figure(of(|run| run.service_us / run.load.requests).median),
            figure(of(|run| run.spent.processor_us / run.load.requests).median),
            figure(of(|run| run.spent.sent / run.load.requests).median),
        ]
    };
    Table {
        title: "Over HTTP",
        note: format!(
            "Axum, {CONNECTIONS} connections that stay open, a different key for each request; \
             the service, the load and Redis are three processes."
        ),
        columns: COLUMNS.to_vec(),
        rows: runs.iter().map(row).collect(),
    }
}
