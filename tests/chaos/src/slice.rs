//! One slice of the campaign: a deployment of its own, workers, faults, and what came of them.

use std::{path::Path, time::Duration};

use futures_util::future::join_all;
use lock_tests::Wire;
use tokio::time::{Instant, sleep};

use crate::{
    check::{Evidence, Leftover},
    deployment::{Deployment, Sort},
    nemesis::{Crew, Nemesis, Watch},
    resource::Resource,
    schedule::Planned,
};

/// No lease of the campaign is longer, and a line of fair waiters that all died stands for twice as
/// long as the place of one.
const LONGEST: Duration = Duration::from_secs(6);
/// How much longer than that what is left may take to go on a busy machine.
const SLACK: Duration = Duration::from_secs(2);

pub(crate) struct Slice<'a> {
    pub(crate) sort: Sort,
    pub(crate) seed: u64,
    pub(crate) workers: u8,
    pub(crate) wire: Wire,
    pub(crate) length: Duration,
    pub(crate) plan: &'a [Planned],
    pub(crate) directory: &'a Path,
}

impl Slice<'_> {
    /// Runs it to its end, and gathers what the checkers need.
    pub(crate) async fn run(&self) -> Evidence {
        let mut deployment = Deployment::start(self.sort).await;
        let resource = Resource::serve(&self.directory.join("resource"));
        let resource = resource.expect("cannot serve the counters");
        let crew =
            Crew::start(&deployment, self.sort, self.workers, self.seed, self.wire, self.directory);
        let crew = crew.await;
        let nemesis = Nemesis::new(self.wire);
        let watch = Watch::over(&deployment, self.sort);
        let time = sleep(self.length);
        let lanes =
            (0..usize::from(self.workers)).map(|at| nemesis.break_worker(&crew, at, self.plan));
        let faults = async {
            tokio::join!(join_all(lanes), nemesis.break_servers(&mut deployment, self.plan), time,)
        };
        tokio::select! {
            _ = faults => {}
            () = watch.look(&nemesis.record) => {}
        }
        let broken = nemesis.record.broken();
        let lives = crew.finish().await;
        let leftovers = match broken {
            Some(_) => Vec::new(),
            None => self.leftovers(&deployment).await,
        };
        Evidence {
            sort: self.sort,
            lives,
            windows: nemesis.record.windows(),
            broken,
            trouble: nemesis.record.trouble(),
            wrong: nemesis.record.findings(),
            tally: resource.tally(),
            leftovers,
        }
    }

    /// What stands in the store when all workers have been gone for the longest lease.
    async fn leftovers(&self, deployment: &Deployment) -> Vec<Leftover> {
        let end = Instant::now() + LONGEST + SLACK;
        loop {
            let unknown = || vec![("what the store has, which does not answer".to_owned(), -1)];
            let keys = deployment.keys().await.unwrap_or_else(unknown);
            let left = keys.into_iter().map(|(key, ttl)| Leftover { key, ttl });
            let left: Vec<Leftover> = left.filter(Leftover::is_wrong).collect();
            if left.is_empty() || Instant::now() > end {
                return left;
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
}
