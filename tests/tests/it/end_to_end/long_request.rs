//! A request that outlives its lease.

use std::time::{Duration, Instant};

use lock_tests::{RedisServer, http, unless_stalled};
use lock_tower::{AcquireError, LockClient};

use crate::end_to_end::{job::Job, local_service::LocalService};

#[tokio::test]
async fn its_lock_is_renewed_until_it_ends() {
    unless_stalled(async || {
        let redis = RedisServer::start().await;
        let lease = Duration::from_secs(1);
        let locks = LockClient::builder().lease(lease).connect(&redis.url()).await.unwrap();
        let others = LockClient::connect(&redis.url()).await.unwrap();
        let (mut job, router) = Job::routed(Job::lock(&locks));
        let service = LocalService::start(router).await;

        let url = service.url("/job");
        let request = tokio::spawn(async move { http::post(&url, "").await });
        let lock = job.began().await;
        let began = Instant::now();
        while began.elapsed() < 4 * lease {
            let refused = others.write("job").wait(Duration::from_millis(200)).acquire().await;
            assert!(matches!(refused, Err(AcquireError::Busy(_))), "{refused:?}");
            assert!(lock.is_held());
        }

        job.finish();
        let reply = request.await.unwrap();
        assert_eq!((reply.status, reply.text()), (200, "done"));
        let patience = Duration::from_secs(30);
        let guard = others.write("job").wait(patience).acquire().await.unwrap();
        assert!(guard.fencing_token() > lock.fencing_token());
    })
    .await;
}
