//! A server's clock jumps, and no other clock.

use std::time::UNIX_EPOCH;

use lock_tests::{Cli, ClockShift, RedisServer};

const HOUR: i64 = 60 * 60;

async fn seconds(cli: &Cli) -> i64 {
    cli.query::<(i64, i64)>(&["TIME"]).await.0
}

#[tokio::test]
async fn it_jumps_both_ways_and_back() {
    let clock = ClockShift::new();
    let server = clock.of(RedisServer::builder()).start().await;
    let cli = server.cli().await;
    for shift in [0, HOUR, -HOUR, 0] {
        clock.by(shift);
        let here = UNIX_EPOCH.elapsed().unwrap().as_secs().cast_signed();
        let ahead = seconds(&cli).await - here;
        // Half an hour for the machine.
        assert!((ahead - shift).abs() < HOUR / 2, "{ahead} s ahead, not {shift}");
    }
}

#[tokio::test]
async fn what_expires_by_the_clock_is_gone_after_a_jump() {
    let clock = ClockShift::new();
    let server = clock.of(RedisServer::builder()).start().await;
    let cli = server.cli().await;
    let () = cli.query(&["SET", "key", "value", "EX", "600"]).await;
    clock.by(HOUR);
    assert!(!cli.exists("key").await);
}
