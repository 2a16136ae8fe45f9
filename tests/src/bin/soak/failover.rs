//! Redis fails over: by turns its primary is killed, and replaced by the Sentinels while it runs.

use std::{
    sync::Mutex,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use lock_tests::{LIMIT, SentinelSetup, eventually};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::{Soak, locked};

const NAME: &str = SentinelSetup::NAME;

/// Each from the moment in which the primary goes until the Sentinels agree on another, in seconds of the
/// wall clock, which the replicas' logs have too.
#[derive(Debug, Default)]
pub(crate) struct Failovers(Mutex<Vec<(f64, f64)>>);

impl Failovers {
    fn begin(&self) {
        locked(&self.0).push((now(), f64::INFINITY));
    }

    fn end(&self) {
        if let Some(last) = locked(&self.0).last_mut() {
            last.1 = now();
        }
    }

    pub(crate) fn all(&self) -> Vec<(f64, f64)> {
        locked(&self.0).clone()
    }

    /// Whether one is under way at this time, or ended less than a lease before: locks may be lost or
    /// granted twice then.
    pub(crate) fn explain(&self, time: f64, lease: Duration) -> bool {
        self.all()
            .iter()
            .any(|(began, ended)| (*began..ended + lease.as_secs_f64()).contains(&time))
    }
}

pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs_f64()
}

pub(crate) async fn repeat(soak: &Soak, setup: &mut SentinelSetup, began: Instant) {
    let mut next = began + soak.args.failover_every - soak.args.restart_every / 2;
    let mut is_killed = true;
    while next < began + soak.args.length() {
        sleep_until(next).await;
        let old = primary(setup).await;
        soak.failovers.begin();
        if is_killed {
            setup.servers()[old].kill();
            eventually("another primary", LIMIT, async || primary(setup).await != old).await;
        } else {
            replace(setup, old).await;
        }
        soak.failovers.end();
        heal(setup).await;
        is_killed = !is_killed;
        next += soak.args.failover_every;
    }
}

/// Has the Sentinels replace a primary that runs.
async fn replace(setup: &SentinelSetup, old: usize) {
    let cli = setup.sentinel(0).cli().await;
    let replaced = async {
        while primary(setup).await == old {
            sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::pin!(replaced);
    loop {
        // Refused while one is under way. Given up when no replica has been in touch for long enough.
        let _ = cli.try_query::<()>(&["SENTINEL", "FAILOVER", NAME]).await;
        if timeout(Duration::from_secs(6), &mut replaced).await.is_ok() {
            return;
        }
    }
}

/// The server that every Sentinel names.
pub(crate) async fn primary(setup: &SentinelSetup) -> usize {
    let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME];
    loop {
        let mut named = Vec::new();
        for sentinel in setup.sentinels() {
            let address: Vec<String> = sentinel.cli().await.query(&words).await;
            named.extend(address.last().cloned());
        }
        named.dedup();
        let port = |at: &usize| named == [setup.servers()[*at].port().to_string()];
        if let Some(primary) = (0..setup.servers().len()).find(port) {
            return primary;
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Starts the server that was killed, and waits until all others follow the primary.
pub(crate) async fn heal(setup: &mut SentinelSetup) {
    let primary = primary(setup).await;
    let port = setup.servers()[primary].port().to_string();
    for at in 0..setup.servers().len() {
        if !setup.servers()[at].runs() {
            setup.server_mut(at).restart().await;
            let cli = setup.servers()[at].cli().await;
            let () = cli.query(&["REPLICAOF", "127.0.0.1", &port]).await;
        }
    }
    let replicas = setup.servers().len() - 1;
    let cli = setup.servers()[primary].cli().await;
    eventually("the replicas are in step", LIMIT, async || {
        let info: String = cli.query(&["INFO", "replication"]).await;
        info.matches("state=online").count() == replicas
    })
    .await;
}
