//! The clients: mixed requests, each sent to one replica, or to the other if that one stops.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::Method;
use lock_tests::{
    LIMIT,
    http::{self as client, HttpError, Reply},
};
use lock_tower::Outcome;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::{
    Soak,
    failover::now,
    replica::{Life, Visit},
    tally::earlier,
};

/// One key of five requests is one of these.
const HOT: u64 = 3;
const KEYS: u64 = 5_000;

/// A replica has read a request that was sent this long before its SIGTERM. A later one may have been in
/// the listener's queue, which the replica closes unread.
pub(crate) const SURELY_READ: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Request {
    policy: &'static str,
    method: Method,
    path: String,
    /// When its client disconnects, if it does.
    leaves: Option<Duration>,
}

pub(crate) async fn send_until_the_end(soak: Arc<Soak>) {
    while !soak.has_ended() {
        Request::next(soak.args.lease).send(&soak).await;
        sleep(Duration::from_millis(fastrand::u64(..100))).await;
    }
}

impl Request {
    fn next(lease: Duration) -> Self {
        let key =
            if fastrand::u8(..5) == 0 { fastrand::u64(..HOT) } else { fastrand::u64(HOT..KEYS) };
        // All imports have one key, so that any two of their holds must not overlap.
        let (policy, method, path) = match fastrand::u8(..20) {
            0..7 => ("order", Method::GET, format!("/orders/{key}")),
            7..12 => ("order", Method::PUT, format!("/orders/{key}")),
            12..15 => ("report", Method::POST, format!("/reports/{key}")),
            15..18 => ("reminder", Method::POST, format!("/reminders/{key}")),
            _ => ("import", Method::POST, "/imports/acme".to_owned()),
        };
        let is_long = policy != "import" && fastrand::u8(..200) == 0;
        let ms = if is_long { lease.mul_f64(0.4).as_millis() } else { fastrand::u128(..100) };
        let leaves = (fastrand::u8(..20) == 0).then(|| Duration::from_millis(fastrand::u64(..150)));
        Self { policy, method, path: format!("{path}?ms={ms}"), leaves }
    }

    /// Sent before a SIGTERM, and under way then: it must be answered.
    pub(crate) fn before_sigterm(number: u64) -> Self {
        let path = format!("/orders/{}?ms={}", KEYS + number, 2 * SURELY_READ.as_millis());
        Self { policy: "order", method: Method::PUT, path, leaves: None }
    }

    /// As a load balancer does, the client sends it to the other replica if one does not accept it.
    async fn send(&self, soak: &Soak) {
        let first = fastrand::usize(..2);
        for turn in first..first + 4 {
            if let Some(visit) = soak.replicas[turn % 2].enter()
                && self.is_accepted(soak, visit).await
            {
                return;
            }
        }
        soak.wrong(format!("no replica accepted {self:?}"));
    }

    pub(crate) async fn is_accepted(&self, soak: &Soak, visit: Visit) -> bool {
        let (life, sent) = (visit.life(), Instant::now());
        let url = format!("{}{}", life.url, self.path);
        let exchange = client::request(self.method.clone(), &url, "");
        match timeout(self.leaves.unwrap_or(LIMIT), exchange).await {
            Ok(Ok(reply)) => self.answered(soak, life, &reply, sent),
            Ok(Err(error)) => return self.not_answered(soak, life, &error, sent),
            Err(_) if self.leaves.is_some() => {
                *life.tally().left.entry(self.policy).or_default() += 1
            }
            Err(_) => soak.wrong(format!("{self:?} had no answer after {LIMIT:?}")),
        }
        true
    }

    /// Returns whether the request is over.
    fn not_answered(&self, soak: &Soak, life: &Life, error: &HttpError, sent: Instant) -> bool {
        let dropped = match life.stopped() {
            None => true,
            Some(at) => matches!(error, HttpError::Exchange(_)) && sent + SURELY_READ < at,
        };
        if dropped {
            soak.wrong(format!("{self:?} was dropped after {:?}: {error}", sent.elapsed()));
        } else {
            life.tally().not_accepted += 1;
        }
        dropped
    }

    fn answered(&self, soak: &Soak, life: &Life, reply: &Reply, sent: Instant) {
        let Some(outcome) = outcome(self.policy, reply).filter(|it| allows(self.policy, it)) else {
            return soak
                .wrong(format!("the table does not have this answer to {self:?}: {reply:?}"));
        };
        let (now, lease) = (now(), soak.args.lease);
        let explained = soak.failovers.explain(now, lease);
        let mut tally = life.tally();
        *tally.answers.entry((self.policy, outcome)).or_default() += 1;
        tally.longest = tally.longest.max(sent.elapsed());
        tally.while_stopping += u64::from(life.stopped().is_some());
        match outcome {
            "lock-unavailable" | "open" => {
                tally.first_unavailable = earlier(tally.first_unavailable, Some(now));
                tally.unexplained += u64::from(!explained);
            }
            "lock-lost" => {
                tally.first_lost = earlier(tally.first_lost, Some(now));
                if !explained {
                    soak.wrong(format!("the lock of {self:?} was lost beside no failover"));
                }
            }
            _ => {}
        }
    }
}

/// `None` if the table of outcomes does not have the answer.
fn outcome(policy: &str, reply: &Reply) -> Option<&'static str> {
    if reply.status == 200 {
        return match (reply.header("lock-degraded"), policy) {
            (None, "report") => Some("shadow"),
            (None, _) => Some("granted"),
            (Some("open"), _) => Some("open"),
            _ => None,
        };
    }
    let document: Value = serde_json::from_slice(&reply.body).ok()?;
    let name = document["type"].as_str()?.strip_prefix("urn:lock-tower:problem:")?;
    let known = Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == name)?;
    (known.status() == reply.status).then(|| known.as_str())
}

/// Whether `examples/observed/locks.toml` lets a request end so.
fn allows(policy: &str, outcome: &str) -> bool {
    match outcome {
        "shadow" => policy == "report",
        "open" => policy == "reminder",
        "lock-unavailable" => matches!(policy, "order" | "import"),
        "lock-overloaded" => policy == "import",
        "granted" | "lock-busy" | "lock-draining" | "lock-lost" => policy != "report",
        _ => false,
    }
}
