//! A day in an hour: two replicas of the example `observed` under a mixed load, while they are restarted
//! in turn and Redis fails over, with the dashboard and the alerts of Prometheus.
//!
//! ```text
//! cargo run --release -p lock-tests --bin soak -- --minutes 60
//! ```
//!
//! It starts its own Redis (a primary with two replicas and three Sentinels) and its own Prometheus, with
//! the configuration, rules and dashboard of `examples/observed`. It prints its figures as Markdown, and
//! ends with 1 if something was wrong. For Linux: it reads `/proc`.

mod failover;
mod load;
mod overlaps;
mod prometheus;
mod replica;
mod report;
mod shown;
mod tally;

use std::{
    process::ExitCode,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use clap::Parser;
use futures_util::future::join_all;
use lock_tests::{LIMIT, SentinelSetup, lock_keys};
use tokio::time::{Instant, sleep, sleep_until};

use failover::{Failovers, now};
use overlaps::Hold;
use prometheus::Prometheus;
use replica::Replica;
use shown::Shown;
use tally::Tally;

#[derive(Debug, Clone, Copy, Parser)]
#[command(version, about = "Two replicas of `observed` under load, restarts and failovers")]
struct Args {
    /// How long the load lasts.
    #[arg(long, default_value_t = 60.0)]
    minutes: f64,
    /// Seconds from one rolling restart to the next.
    #[arg(long, default_value = "300", value_parser = seconds)]
    restart_every: Duration,
    /// Seconds from one failover to the next. The first is half of `--restart-every` before this time, so
    /// that a replica does not start while there is no primary.
    #[arg(long, default_value = "600", value_parser = seconds)]
    failover_every: Duration,
    /// Seconds of a lease. One request of 200 takes 0.4 of it, so that its lock is renewed.
    #[arg(long, default_value = "10", value_parser = seconds)]
    lease: Duration,
    /// Seconds from one scrape of Prometheus to the next.
    #[arg(long, default_value = "5", value_parser = seconds)]
    scrape_every: Duration,
    /// How many clients there are, each with one request at a time.
    #[arg(long, default_value_t = 24)]
    clients: usize,
}

impl Args {
    fn length(&self) -> Duration {
        Duration::from_secs_f64(self.minutes * 60.0)
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|why| why.to_string())
}

/// The parts of a soak that its tasks share.
#[derive(Debug)]
struct Soak {
    args: Args,
    replicas: [Replica; 2],
    failovers: Failovers,
    has_ended: AtomicBool,
    /// Those of one key.
    holds: Mutex<Vec<Hold>>,
    wrong: Mutex<Vec<String>>,
}

impl Soak {
    /// Something that must not be.
    fn wrong(&self, what: String) {
        eprintln!("wrong: {what}");
        locked(&self.wrong).push(what);
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Of all requests.
    fn tally(&self) -> Tally {
        let mut total = Tally::default();
        for replica in &self.replicas {
            replica.add_to(&mut total);
        }
        total
    }

    /// Measures both replicas after a fifth of their time, and restarts them one after the other.
    async fn restart_in_turn(&self, began: Instant) {
        let every = self.args.restart_every;
        let mut next = began + every;
        loop {
            sleep_until(next - every * 4 / 5).await;
            for replica in &self.replicas {
                replica.measure(self).await;
            }
            if next >= began + self.args.length() {
                return;
            }
            sleep_until(next).await;
            for replica in &self.replicas {
                replica.restart(self).await;
            }
            next += every;
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    if !prometheus::is_installed() {
        eprintln!(
            "soak: prometheus is missing. Install it (Debian, Ubuntu: apt-get install prometheus; macOS: \
             brew install prometheus) and run this again."
        );
        return ExitCode::FAILURE;
    }
    let mut setup = SentinelSetup::builder().replicas(2).start().await;
    let replicas = Replica::start_both(&setup.url(), args.lease).await;
    let prometheus = Prometheus::start(&replicas, args.scrape_every).await;
    let soak = Arc::new(Soak {
        args,
        replicas,
        failovers: Failovers::default(),
        has_ended: AtomicBool::new(false),
        holds: Mutex::default(),
        wrong: Mutex::default(),
    });

    let (began, began_at) = (Instant::now(), now());
    let clients = (0..args.clients).map(|_| tokio::spawn(load::send_until_the_end(soak.clone())));
    let clients: Vec<_> = clients.collect();
    tokio::join!(soak.restart_in_turn(began), failover::repeat(&soak, &mut setup, began));
    sleep_until(began + args.length()).await;
    soak.has_ended.store(true, Ordering::Relaxed);
    for client in join_all(clients).await {
        client.expect("a client of the load panicked");
    }

    nothing_is_left(&soak, &setup).await;
    prometheus.scraped(&soak.replicas).await;
    let shown = Shown::check(&soak, &prometheus, (began_at, now())).await;
    for replica in &soak.replicas {
        replica.stop(&soak).await;
    }
    let overlaps = overlaps::check(&soak);
    report::print(&soak, began.elapsed().as_secs(), &shown, &overlaps)
}

/// After the last request no lock is left.
async fn nothing_is_left(soak: &Soak, setup: &SentinelSetup) {
    let cli = setup.servers()[failover::primary(setup).await].cli().await;
    let end = Instant::now() + LIMIT;
    loop {
        let left = lock_keys(&cli).await;
        if left.is_empty() {
            return;
        }
        if Instant::now() > end {
            return soak.wrong(format!("left in Redis: {left:?}"));
        }
        sleep(Duration::from_millis(50)).await;
    }
}
