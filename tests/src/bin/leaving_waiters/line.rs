//! The lock's state in Redis.

use std::time::{Duration, Instant};

use lock_tests::{Cli, Wire};

const LOCK: &str = "lock:k";
const PLACES: &str = "lock_places:{lock:k}";
const QUEUE: &str = "redisson_lock_queue:{lock:k}";
const WAITERS: &str = "lock_waiters:{lock:k}";

/// The scripts that Redis has run so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scripts {
    pub(crate) calls: u64,
    /// How long they took, in microseconds.
    pub(crate) micros: u64,
}

impl Scripts {
    pub(crate) async fn run_so_far(cli: &Cli) -> Self {
        let info: String = cli.query(&["INFO", "commandstats"]).await;
        let scripts = info.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:"));
        let figure = |name: &str| {
            let figures = scripts.into_iter().flat_map(|figures| figures.split(','));
            let mut values = figures.filter_map(|figure| figure.strip_prefix(name));
            values.next().and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        Self { calls: figure("calls="), micros: figure("usec=") }
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self { calls: self.calls - before.calls, micros: self.micros - before.micros }
    }
}

/// How many waiters stood in the line at most, as far as a look every 20 ms shows.
pub(crate) async fn longest(cli: &Cli, wire: Wire, span: Duration) -> u64 {
    let until = Instant::now() + span;
    let mut longest = 0;
    while Instant::now() < until {
        longest = longest.max(length(cli, wire).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    longest
}

async fn length(cli: &Cli, wire: Wire) -> u64 {
    if wire == Wire::Native {
        // Of a kind that is not fair it is in the lock's value while it is short.
        return match cli.type_of(LOCK).await.as_str() {
            "string" => {
                let value = cli.string(LOCK).await.unwrap_or_default();
                let beside: u64 = cli.query(&["ZCARD", PLACES]).await;
                beside + value.matches('|').count() as u64
            }
            _ => cli.query(&["ZCARD", PLACES]).await,
        };
    }
    match cli.type_of(WAITERS).await.as_str() {
        "hash" => cli.query(&["HLEN", WAITERS]).await,
        "zset" => cli.query(&["ZCARD", WAITERS]).await,
        _ => cli.query(&["LLEN", QUEUE]).await,
    }
}
