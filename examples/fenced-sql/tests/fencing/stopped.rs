//! A process that is stopped for longer than its lease, while it has a claim.

use lock_tests::{LIMIT, Process, RedisServer, bounded};
use lock_tower::{LockClient, fence::Claimed};

use crate::databases::{ADA, Database, on_every_database};

on_every_database! {
    its_writes_are_refused_after_the_next_holders_claim,
    it_writes_when_no_other_has_come_between,
}

async fn claimed_by_a_teller(redis: &RedisServer, database: &Database) -> Process {
    let teller = Process::builder(env!("CARGO_BIN_EXE_teller"))
        .env("REDIS_URL", redis.url())
        .env("DATABASE_URL", database.url())
        .hears()
        .start();
    assert_eq!(teller.line("claimed", LIMIT).await, "claimed, reads 100");
    teller
}

/// Its whole output, after it was resumed and has ended.
async fn told_to_write(teller: &Process) -> String {
    teller.say("go on");
    let status = teller.exited(LIMIT).await;
    assert!(status.success(), "{status}: {}", teller.output());
    teller.output()
}

async fn its_writes_are_refused_after_the_next_holders_claim(database: Database) {
    let redis = RedisServer::start().await;
    let accounts = &database.accounts;
    let teller = claimed_by_a_teller(&redis, &database).await;
    teller.pause();

    let next = LockClient::connect(&redis.url()).await.unwrap();
    let next = next.write("account:7").wait(LIMIT).acquire();
    let next = bounded(LIMIT, next).await.unwrap();
    let claim = accounts.claim(ADA, next.fencing_token()).await.unwrap().unwrap();
    assert_eq!(claim.balance(), 100);

    // It resumes between the next holder's read and write.
    teller.resume();
    let said = told_to_write(&teller).await;
    for refused in ["writes 70: Stale", "writes 40: Stale", "claims again: Stale"] {
        assert!(said.contains(refused), "{said}");
    }
    assert_eq!(accounts.write(&claim, 50).await.unwrap(), Claimed::Ours);
    assert_eq!(database.balance().await, 50);
}

async fn it_writes_when_no_other_has_come_between(database: Database) {
    let redis = RedisServer::start().await;
    let teller = claimed_by_a_teller(&redis, &database).await;
    let said = told_to_write(&teller).await;
    for done in ["writes 70: Ours", "writes 40: Ours", "claims again: Ours"] {
        assert!(said.contains(done), "{said}");
    }
    assert_eq!(database.balance().await, 40);
}
