//! A replica of a service on its way from an old lock to ours, for tests that mix its versions.
//!
//! `$VERSION` is `0`, `1` or `2`, `$OLD_LOCK` is `hand_rolled` or `rslock`, `$OLD_TTL_MS` the old
//! lock's time. It takes its turns at the Redis at `$REDIS_URL`, `$TURNS` of them: each counts the
//! processes inside, and prints `overlap` if it is not alone. Without `$TURNS` it enters once and prints `step`
//! every now and then until it is killed or loses a lock.

use std::{env, error::Error, str::FromStr, time::Duration};

use lock_tests::migrating::{OldKind, Replica, Version};
use redis::AsyncCommands;
use tokio::time::sleep;

const INSIDE: &str = "inside";
/// So long that a test which sees a step come can stop the process before the next.
const STEP: Duration = Duration::from_millis(100);
/// Far longer than all turns of all replicas take.
const WAIT: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("REDIS_URL")?;
    let version = match env::var("VERSION")?.as_str() {
        "0" => Version::Zero,
        "1" => Version::One,
        "2" => Version::Two,
        other => return Err(format!("no version {other:?}").into()),
    };
    let kind = match env::var("OLD_LOCK")?.as_str() {
        "hand_rolled" => OldKind::HandRolled,
        "rslock" => OldKind::Rslock,
        other => return Err(format!("no old lock {other:?}").into()),
    };
    let ttl = Duration::from_millis(u64::from_str(&env::var("OLD_TTL_MS")?)?);
    let replica = Replica::start(version, kind, &url, ttl).await;
    let redis = redis::Client::open(url)?.get_multiplexed_async_connection().await?;

    let Ok(turns) = env::var("TURNS") else {
        let stay = async {
            loop {
                println!("step");
                sleep(STEP).await;
            }
        };
        return replica.run(WAIT, stay).await.map_err(|undone| format!("{undone:?}").into());
    };
    for _ in 0..u32::from_str(&turns)? {
        let alone = replica.run(WAIT, turn(redis.clone())).await;
        match alone.map_err(|undone| format!("{undone:?}"))?? {
            true => println!("alone"),
            false => println!("overlap"),
        }
    }
    replica.shut_down().await;
    Ok(())
}

/// Returns whether no other process was inside.
async fn turn(mut redis: impl AsyncCommands) -> redis::RedisResult<bool> {
    let inside: u32 = redis.incr(INSIDE, 1).await?;
    sleep(Duration::from_millis(3)).await;
    let left: u32 = redis.decr(INSIDE, 1).await?;
    Ok(inside == 1 && left == 0)
}
