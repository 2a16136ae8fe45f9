//! Messages are lost, and other things stand where locks should: rows 26, 27, 37 and 38.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::servers::{Injected, because, insist};
use crate::{
    deployment::{Admin, Deployment},
    keys::{self, Family},
    schedule::Planned,
};

const LIMIT: &str = "client-output-buffer-limit";
/// A hash that is not a lock, unless the key exists.
const FOREIGN: &str = "if redis.call('EXISTS', KEYS[1]) == 0 then \
     redis.call('HSET', KEYS[1], 'colour', 'red') redis.call('PEXPIRE', KEYS[1], ARGV[1]) end";
const BURST: &str = "for i = 1, 300 do redis.call(ARGV[1], KEYS[1], string.rep('1', 1000)) end";

pub(super) async fn cut_subscribers(deployment: &Deployment) -> Injected {
    let mut cut = 0;
    for server in deployment.servers() {
        let admin = Admin::to(server).await.map_err(because)?;
        let killed: u64 =
            admin.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]).await.map_err(because)?;
        cut += killed;
    }
    if cut == 0 { Err("there was no subscriber".to_owned()) } else { Ok(()) }
}

pub(super) async fn cut_subscribers_again_and_again(
    deployment: &Deployment,
    planned: &Planned,
) -> Injected {
    let end = Instant::now() + planned.lasts;
    let mut done = Err("there was no subscriber".to_owned());
    while Instant::now() < end {
        // Clients that were cut off do not subscribe again at once.
        done = done.or(cut_subscribers(deployment).await);
        sleep(Duration::from_millis(40)).await;
    }
    done
}

/// A string or a strange hash under keys that are free now.
pub(super) async fn put_something_else(deployment: &Deployment, planned: &Planned) -> Injected {
    let lasts = planned.lasts.as_millis().to_string();
    for at in deployment.primaries().await {
        let admin = Admin::to(deployment.servers()[at]).await.map_err(because)?;
        for key in keys::all() {
            // A semaphore's key is never free.
            if Family::of(&key) == Some(Family::Semaphore) {
                continue;
            }
            let name = format!("lock:{key}");
            // In a cluster the others' slots are refused.
            let _moved = if planned.amount & 1 == 0 {
                admin.tell(&["SET", &name, "something else", "NX", "PX", &lasts]).await
            } else {
                admin.tell(&["EVAL", FOREIGN, "1", &name, &lasts]).await
            };
        }
    }
    sleep(planned.lasts).await;
    Ok(())
}

/// More messages than a subscriber may have waiting for it.
pub(super) async fn flood(deployment: &Deployment, planned: &Planned) -> Injected {
    let done = deployment.tell_all(&["CONFIG", "SET", LIMIT, "pubsub 8192 4096 1"]).await;
    let end = Instant::now() + planned.lasts;
    while done.is_ok() && Instant::now() < end {
        for at in deployment.primaries().await {
            let admin = Admin::to(deployment.servers()[at]).await.map_err(because)?;
            for key in keys::all() {
                for channel in ["redisson_rwlock", "redisson_lock__channel"] {
                    let channel = format!("{channel}:{{lock:{key}}}");
                    for word in ["PUBLISH", "SPUBLISH"] {
                        let _moved = admin.tell(&["EVAL", BURST, "1", &channel, word]).await;
                    }
                }
            }
        }
        sleep(Duration::from_millis(50)).await;
    }
    insist("the output buffers to be as they were", || {
        deployment.tell_all(&["CONFIG", "SET", LIMIT, "pubsub 33554432 8388608 60"])
    })
    .await;
    done.map_err(because)
}
