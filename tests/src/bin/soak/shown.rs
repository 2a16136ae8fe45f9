//! Panels, alerts and counters of Prometheus, compared with the answers that clients had.

use std::time::Duration;

use serde_json::Value;

use crate::{Soak, prometheus::Prometheus, tally::Tally};

/// From and to, in seconds of the wall clock.
type Run = (f64, f64);

const DASHBOARD: &str = include_str!("../../../../examples/observed/dashboard.json");

/// Panels that show nothing, or zero, unless something happens that this run does not do.
const QUIET: [(&str, &str); 7] = [
    ("Leaders", "`observed` has no leader"),
    ("Deadlocks", "a request of `observed` has one lock"),
    ("Rules without a request", "every rule has requests"),
    ("Policy reloads", "the policy file stays as it is"),
    ("policy changed", "the policy file stays as it is"),
    ("Breaker", "only if the store is silent: a primary that was killed refuses connections"),
    ("Lost, by cause", "only if a failover lost a lock"),
];

/// In a shorter run, such as CI's, few requests are long and few meet a failover: a panel may show nothing.
const LONG: f64 = 600.0;

/// The rows of three tables.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) counters: Vec<String>,
    pub(crate) alerts: Vec<String>,
    /// Without the queries that show values.
    pub(crate) panels: Vec<String>,
}

impl Shown {
    /// `run`: from the first request to the last scrape.
    pub(crate) async fn check(soak: &Soak, prometheus: &Prometheus, run: Run) -> Self {
        Self {
            counters: counters(soak, prometheus, run).await,
            alerts: alerts(soak, prometheus, run).await,
            panels: panels(soak, prometheus, run).await,
        }
    }
}

async fn panels(soak: &Soak, prometheus: &Prometheus, run: Run) -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let annotations = list(&dashboard["annotations"]["list"]).into_iter();
    let mut queries: Vec<_> =
        annotations.map(|one| (one["name"].clone(), one["expr"].clone())).collect();
    for panel in list(&dashboard["panels"]) {
        let targets = list(&panel["targets"]).into_iter();
        queries.extend(targets.map(|target| (panel["title"].clone(), target["expr"].clone())));
    }
    let interval = format!("{}ms", (4 * soak.args.scrape_every).as_millis());
    let mut panels = Vec::new();
    for (title, query) in queries {
        let (title, query) = (title.as_str().expect("a title"), query.as_str().expect("a query"));
        let query = query.replace("$__rate_interval", &interval);
        let query = query.replace("$job", ".*").replace("$policy", ".*");
        let shows = match prometheus.range(&query, run, soak.args.scrape_every).await {
            Err(error) => {
                soak.wrong(format!("panel {title}: {error}"));
                "an error"
            }
            // A quantile of nothing is not a number.
            Ok(values) if values.iter().all(|value| value.is_nan()) => "nothing",
            Ok(values) if values.iter().all(|value| value.is_nan() || *value == 0.0) => "zero",
            Ok(_) => "values",
        };
        let why = QUIET.iter().find(|(quiet, _)| *quiet == title).map(|(_, why)| *why);
        let why = why.or((run.1 - run.0 < LONG).then_some("the run is short"));
        if matches!(shows, "nothing" | "zero") && why.is_none() {
            soak.wrong(format!("panel {title} shows {shows}: {query}"));
        }
        if shows != "values" {
            panels.push(format!("| {title} | {shows} | {} |", why.unwrap_or_default()));
        }
    }
    panels
}

async fn alerts(soak: &Soak, prometheus: &Prometheus, run: Run) -> Vec<String> {
    let firing = format!("max_over_time(ALERTS{{alertstate=\"firing\"}}[{}s])", seconds(run));
    let firing = prometheus.query(&firing, run.1).await.expect("a query of this program");
    let total = soak.tally();
    let mut alerts = Vec::new();
    for (name, error) in prometheus.rules().await {
        if let Some(error) = error {
            soak.wrong(format!("rule {name}: {error}"));
        }
        let should_fire = should_fire(&name, &total, run, soak.args.scrape_every);
        let fired = firing.iter().any(|(labels, _)| labels["alertname"] == *name);
        if should_fire.is_some_and(|should| should != fired) {
            soak.wrong(format!("{name} should fire: {should_fire:?}, fired: {fired}"));
        }
        let should = should_fire.map_or("not judged", yes_or_no);
        alerts.push(format!("| {name} | {should} | {} |", yes_or_no(fired)));
    }
    alerts
}

fn should_fire(name: &str, total: &Tally, run: Run, scrape_every: Duration) -> Option<bool> {
    // A scrape, an evaluation, and one of each late.
    let noticed = 4.0 * scrape_every.as_secs_f64();
    // `pending` is the `for` of the rule.
    let after = |event: Option<f64>, pending: f64| match event {
        None => Some(false),
        Some(event) => (event + pending + noticed < run.1).then_some(true),
    };
    match name {
        "LockStoreUnavailable" => after(total.first_unavailable, 60.0),
        "LocksLost" => after(total.first_lost, 0.0),
        "LockOverloaded" => after(Some(run.0), 300.0),
        // Above a tenth for ten minutes.
        "LockBusyRatioHigh" => {
            let ratio = |policy: &str| {
                let all = total.sum(|label| label.0 == policy).max(1);
                total.of(policy, "lock-busy") as f64 / all as f64
            };
            let most = ["order", "import", "reminder"].map(ratio).into_iter().fold(0.0, f64::max);
            (most < 0.05 || run.1 - run.0 < LONG).then_some(false)
        }
        _ => Some(false),
    }
}

/// Prometheus does not see the requests since the last scrape of a process, so it shows less.
async fn counters(soak: &Soak, prometheus: &Prometheus, run: Run) -> Vec<String> {
    let query =
        format!("sum by (policy, outcome) (increase(lock_requests_total[{}s]))", seconds(run));
    let series = prometheus.query(&query, run.1).await.expect("a query of this program");
    let unseen = 2.0 * soak.args.scrape_every.as_secs_f64() / soak.args.restart_every.as_secs_f64();
    let total = soak.tally();
    let mut counters = Vec::new();
    for (label, answered) in &total.answers {
        let is_it = |of: &Value| of["policy"] == label.0 && of["outcome"] == label.1;
        let shown = series.iter().find(|(of, _)| is_it(of)).map_or(0.0, |(_, value)| *value);
        let row = format!("| {} | {} | {answered} | {shown:.0} |", label.0, label.1);
        let (least, most) = (*answered as f64 * (0.95 - unseen), *answered as f64 * 1.1);
        // Few may all have happened between the last scrape of a process and its end.
        if *answered >= 1_000 && !(least..=most).contains(&shown) {
            soak.wrong(format!("clients and Prometheus differ: {row}"));
        }
        counters.push(row);
    }
    counters
}

fn seconds((began, ended): Run) -> u64 {
    (ended - began).ceil() as u64
}

fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}
