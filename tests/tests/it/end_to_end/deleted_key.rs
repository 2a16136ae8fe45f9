//! A request whose lock is deleted in Redis while it works.

use std::time::Duration;

use lock_tests::{RedisServer, http, unless_stalled};
use lock_tower::{FencingToken, LockClient};
use serde_json::json;

use crate::end_to_end::{
    job::{JOB, Job},
    local_service::LocalService,
    problem::assert_problem,
};

/// A row of a table that is fenced by the claiming rule.
#[derive(Debug, Default)]
struct Row {
    fence: Option<FencingToken>,
    written: Vec<&'static str>,
}

impl Row {
    fn claim(&mut self, token: FencingToken) -> bool {
        let later = self.fence < Some(token);
        if later {
            self.fence = Some(token);
        }
        later
    }

    fn write(&mut self, token: FencingToken, what: &'static str) -> bool {
        let claimed = self.fence == Some(token);
        if claimed {
            self.written.push(what);
        }
        claimed
    }
}

#[tokio::test]
async fn it_is_cancelled_and_notified_and_its_late_write_is_refused() {
    unless_stalled(async || {
        let redis = RedisServer::start().await;
        let cli = redis.cli().await;
        let lease = Duration::from_secs(1);
        let locks = LockClient::builder().lease(lease).connect(&redis.url()).await.unwrap();
        let (mut job, router) = Job::routed(Job::lock(&locks));
        let service = LocalService::start(router).await;
        let mut row = Row::default();

        let url = service.url("/job");
        let first = tokio::spawn({
            let url = url.clone();
            async move { http::post(&url, "").await }
        });
        let stale = job.began().await;
        assert!(row.claim(stale.fencing_token()));
        assert!(cli.del(JOB).await);
        job.gone().await;
        let reply = first.await.unwrap();
        assert_problem(&reply, 503, "lock-lost", json!("unknown"));
        assert_eq!(reply.header("retry-after"), None);
        assert!(!stale.is_held());

        let second = tokio::spawn(async move { http::post(&url, "").await });
        let live = job.began().await;
        assert!(row.claim(live.fencing_token()));
        assert!(!row.write(stale.fencing_token(), "stale"));
        assert!(!row.claim(stale.fencing_token()));
        assert!(row.write(live.fencing_token(), "live"));
        job.finish();
        assert_eq!(second.await.unwrap().status, 200);
        assert_eq!(row.written, ["live"]);
    })
    .await;
}
