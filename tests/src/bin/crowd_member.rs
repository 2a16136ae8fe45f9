//! One process of a crowd: executes the lines of its standard input, each at once.
//!
//! | line | what it does | then prints |
//! |---|---|---|
//! | `stream <mode> <key> <log> <until>` | locks `key` again and again, 10 ms each, until the key `until` exists; writes to the log when it requests, when it is granted, and before it releases | `streamed` |
//! | `hold <kind> <key>` | locks `key` until `release` | `held` |
//! | `release` | | `released` |
//! | `turn <kind> <key> <log> <name>` | locks `key` once and writes its name to the log meanwhile | `turned <name>` |
//! | `wait <kind> <key> <count>` | so many tasks acquire `key`, and wait | `granted` if one does not |
//! | `leave` | all of them give up at once | |
//! | `keep <key> <of> <weight> <lease>` | takes so many of `of` permits, with a lease in milliseconds | `kept` |
//! | `take <key> <of> <weight> <log> <name>` | the same once, and writes `has <name>` and `gives <name>` to the log | `took <name>` |
//! | `count <key> <of> <turns> <counter>` | takes permits again and again, one to three at once, and counts those in use | `counted` |
//! | `park <key> <counter> <list> <list> <turns>` | locks `key`, counts up, parks it, and writes its ticket to both lists | `parked` |
//! | `resume <key> <counter> <list> <turns>` | resumes every ticket of a list, counts down and releases | `resumed <how many>` |
//! | `want <key> <counter> <until>` | locks `key` again and again, counting up and down, until the key `until` exists | `wanted <how often>` |
//! | `both <one> <other> <turns> <counter>` | locks both, in the order given, and counts up in steps | `done` |
//! | `limits <wanted> <most>` | acquires a permit of `all`, of the `tenant` too, or the `report` too, again and again, until that many were granted in all processes, and counts those inside each | `limited <wanted> <how often> <most others before one>` |
//! | `once <key> <result> <log> <count> <fill> <lease>` | that many tasks call `once` under `key`, for what the list `result` has; a fill writes its process to the log, takes `fill` milliseconds, and leaves its process there; with a lease in milliseconds | `once <result>` |
//! | `slot <name> <job> <length> <at> <log> <work> <lease>` | runs `job` once per slot of `length` milliseconds at this time, in milliseconds; the work writes the number of its attempt and its process to the log, and takes `work` milliseconds, or `fails` | `slot <name> <outcome>` |
//! | `end <how> <key> <lease> <least> <log>` | locks `key` for at least that many milliseconds, writes to the log, ends its work and then the process, by `release` or `shutdown` | |
//! | `end` | ends the process | |
//!
//! A log is a stream in Redis, so every line has the time of Redis' clock.

use std::{
    convert::Infallible,
    env,
    error::Error,
    process,
    time::{Duration, SystemTime},
};

use clap::ValueEnum;
use futures_util::future::try_join_all;
use lock_core::{HoldTicket, Kind, LockClient, LockGuard, Mode, OnceError, ResumeError, Slots};
use lock_tests::{Cli, Wire};
use lock_tower::distributed_lock;
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    task::JoinSet,
    time::sleep,
};

type Failure = Box<dyn Error + Send + Sync>;

const WAIT: Duration = Duration::from_secs(300);
const HOLD: Duration = Duration::from_millis(10);

#[derive(Clone)]
struct Member {
    locks: LockClient,
    cli: Cli,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let url = env::var("REDIS_URL")?;
    // What is shown is an order, and a machine that stands still for a moment must not change it.
    let patience = Duration::from_secs(30);
    let wire = Wire::from_str(&env::var("WIRE")?, true)?;
    let builder = wire.builder().command_timeout(patience).connect_timeout(patience);
    let builder = builder.fairness_timeout(WAIT).ticket_key([7; 32]);
    let member = Member { locks: builder.connect(&url).await?, cli: Cli::connect(&url).await };
    println!("ready");

    let mut held: Option<LockGuard> = None;
    let mut waiters = JoinSet::new();
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["hold", kind, key] => {
                held = Some(member.ask(kind, key)?.acquire().await?);
                println!("held");
            }
            ["release"] => {
                held.take().ok_or("nothing is held")?.release().await?;
                println!("released");
            }
            ["wait", kind, key, count] => {
                for _ in 0..count.parse()? {
                    let acquire = member.ask(kind, key)?.acquire();
                    waiters.spawn(async move {
                        let _guard = acquire.await;
                        println!("granted");
                    });
                }
            }
            ["leave"] => waiters.abort_all(),
            ["end"] => return Ok(()),
            ["end", how, key, lease, least, log] => {
                let [lease, least] = [lease.parse()?, least.parse()?].map(Duration::from_millis);
                let lock = member.locks.write(*key).lease(lease).hold_at_least(least);
                let guard = lock.acquire().await?;
                member.write(log, "granted").await;
                if *how == "release" {
                    guard.release().await?;
                } else {
                    drop(guard);
                    member.locks.shutdown(WAIT).await?;
                }
                // Nothing more is run, as when `main` returns.
                process::exit(0);
            }
            _ => {
                let member = member.clone();
                tokio::spawn(async move {
                    if let Err(failure) = member.work(&line).await {
                        println!("error in {line:?}: {failure}");
                    }
                });
            }
        }
    }
    Ok(())
}

impl Member {
    async fn work(&self, line: &str) -> Result<(), Failure> {
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["stream", mode, key, log, until] => self.stream(mode, key, log, until).await,
            ["turn", kind, key, log, name] => {
                let guard = self.ask(kind, key)?.acquire().await?;
                self.write(log, name).await;
                guard.release().await?;
                println!("turned {name}");
                Ok(())
            }
            ["keep", key, of, weight, lease] => {
                let permits = self.locks.semaphore(*key, of.parse()?).permits(weight.parse()?);
                let lease = Duration::from_millis(lease.parse()?);
                let _kept = permits.wait(WAIT).lease(lease).acquire().await?;
                println!("kept");
                std::future::pending().await
            }
            ["take", key, of, weight, log, name] => {
                let permits = self.locks.semaphore(*key, of.parse()?).permits(weight.parse()?);
                let guard = permits.wait(WAIT).acquire().await?;
                self.write(log, &format!("has {name}")).await;
                self.write(log, &format!("gives {name}")).await;
                guard.release().await?;
                println!("took {name}");
                Ok(())
            }
            ["count", key, of, turns, counter] => {
                self.count(key, of.parse()?, turns.parse()?, counter).await
            }
            ["park", key, counter, one, other, turns] => {
                self.park(key, counter, [one, other], turns.parse()?).await
            }
            ["resume", key, counter, list, turns] => {
                self.resume(key, counter, list, turns.parse()?).await
            }
            ["want", key, counter, until] => self.want(key, counter, until).await,
            ["both", one, other, turns, counter] => {
                self.both([one, other], turns.parse()?, counter).await
            }
            ["limits", wanted, most] => self.limits(wanted, most.parse()?).await,
            ["once", key, result, log, count, fill, lease] => {
                let [fill, lease] = [fill.parse()?, lease.parse()?].map(Duration::from_millis);
                self.once(key, [result, log], count.parse()?, fill, lease).await
            }
            ["slot", name, job, length, at, log, work, lease] => {
                let millis = |text: &str| text.parse().map(Duration::from_millis);
                let job = self.locks.write(*job).lease(millis(lease)?);
                let job = job.once_per(Slots::every(millis(length)?));
                let outcome =
                    job.on_clock(SystemTime::UNIX_EPOCH + millis(at)?).run(async |attempt| {
                        let number = attempt.number();
                        self.write(log, &format!("{number} {}", process::id())).await;
                        match millis(work) {
                            Ok(work) => sleep(work).await,
                            Err(_) => return Err(number),
                        }
                        Ok(number)
                    });
                match outcome.await {
                    Ok(outcome) => println!("slot {name} {outcome:?}"),
                    Err(OnceError::Work(number)) => println!("slot {name} failed({number})"),
                    Err(OnceError::Lock(why)) => return Err(why.into()),
                    Err(other) => return Err(format!("{other}").into()),
                }
                Ok(())
            }
            _ => Err("no such verb".into()),
        }
    }

    async fn once(
        &self,
        key: &str,
        [result, log]: [&str; 2],
        count: usize,
        fill: Duration,
        lease: Duration,
    ) -> Result<(), Failure> {
        // Commands that no lock sends, so that those of the locks can be counted.
        let check = || async {
            Ok::<_, Infallible>(self.cli.query::<Option<String>>(&["LINDEX", result, "0"]).await)
        };
        let fill = || async {
            let process = std::process::id().to_string();
            self.write(log, &process).await;
            sleep(fill).await;
            let _length: i64 = self.cli.query(&["RPUSH", result, &process]).await;
            Ok(process)
        };
        let lock = self.locks.write(key).wait(WAIT).lease(lease);
        let callers = (0..count).map(|_| lock.clone().once(check, fill));
        let mut results = try_join_all(callers).await?;
        results.dedup();
        println!("once {}", results.join(" "));
        Ok(())
    }

    async fn stream(&self, mode: &str, key: &str, log: &str, until: &str) -> Result<(), Failure> {
        let mode = if mode == "read" { Mode::Read } else { Mode::Write };
        let process = std::process::id();
        for turn in 0.. {
            if self.cli.exists(until).await {
                break;
            }
            self.write(log, &format!("requests {process}:{turn}")).await;
            let guard = self.locks.lock(mode, key).wait(WAIT).acquire().await?;
            self.write(log, &format!("has {process}:{turn}")).await;
            sleep(HOLD).await;
            self.write(log, &format!("gives {process}:{turn}")).await;
            guard.release().await?;
        }
        println!("streamed");
        Ok(())
    }

    async fn park(
        &self,
        key: &str,
        counter: &str,
        lists: [&str; 2],
        turns: u32,
    ) -> Result<(), Failure> {
        for _ in 0..turns {
            let guard = self.locks.write(key).wait(WAIT).acquire().await?;
            self.changed(counter, "INCR", 1).await?;
            let ticket = guard.park(WAIT).await?.to_string();
            for list in lists {
                let _length: i64 = self.cli.query(&["RPUSH", list, &ticket]).await;
            }
        }
        println!("parked");
        Ok(())
    }

    async fn resume(
        &self,
        key: &str,
        counter: &str,
        list: &str,
        turns: u32,
    ) -> Result<(), Failure> {
        let mut resumed = 0;
        for _ in 0..turns {
            let ticket: HoldTicket = loop {
                match self.cli.query::<Option<String>>(&["LPOP", list]).await {
                    Some(ticket) => break ticket.parse()?,
                    None => sleep(Duration::from_millis(1)).await,
                }
            };
            match self.locks.resume(&ticket).await {
                Ok(guard) => {
                    assert_eq!(guard.key().as_str(), key);
                    self.write("tokens", &guard.fencing_token().to_string()).await;
                    self.changed(counter, "DECR", 0).await?;
                    guard.release().await?;
                    resumed += 1;
                }
                Err(ResumeError::Gone { .. }) => {}
                Err(other) => return Err(other.into()),
            }
        }
        println!("resumed {resumed}");
        Ok(())
    }

    async fn want(&self, key: &str, counter: &str, until: &str) -> Result<(), Failure> {
        let mut wanted = 0;
        while !self.cli.exists(until).await {
            if let Ok(guard) = self.locks.write(key).wait(Duration::from_secs(1)).acquire().await {
                self.changed(counter, "INCR", 1).await?;
                self.changed(counter, "DECR", 0).await?;
                guard.release().await?;
                wanted += 1;
            }
        }
        println!("wanted {wanted}");
        Ok(())
    }

    /// Changes the counter, which must have this value then.
    async fn changed(&self, counter: &str, command: &str, expected: i64) -> Result<(), Failure> {
        let found: i64 = self.cli.query(&[command, counter]).await;
        if found == expected { Ok(()) } else { Err(format!("{command}: {found}").into()) }
    }

    async fn both(&self, keys: [&str; 2], turns: u32, counter: &str) -> Result<(), Failure> {
        for _ in 0..turns {
            let locks = keys.map(|key| self.locks.write(key));
            let guard = self.locks.multi_lock(locks).wait(WAIT).acquire().await?;
            let count = self.cli.string(counter).await.unwrap_or_else(|| "0".to_owned());
            let count: u64 = count.parse()?;
            let () = self.cli.query(&["SET", counter, &(count + 1).to_string()]).await;
            guard.release().await?;
        }
        println!("done");
        Ok(())
    }

    /// Two tasks at once, so that waiters of one process meet too.
    async fn count(&self, key: &str, of: u32, turns: u32, counter: &str) -> Result<(), Failure> {
        let turns = |first: u32| async move {
            for turn in (first..turns).step_by(2) {
                let weight = 1 + turn % of;
                let permits = self.locks.semaphore(key, of).permits(weight);
                let guard = permits.wait(WAIT).acquire().await?;
                let weight = weight.to_string();
                let in_use: u32 = self.cli.query(&["INCRBY", counter, &weight]).await;
                let _left: u32 = self.cli.query(&["DECRBY", counter, &weight]).await;
                guard.release().await?;
                if in_use > of {
                    return Err(format!("too many: {in_use}").into());
                }
            }
            Ok::<_, Failure>(())
        };
        tokio::try_join!(turns(0), turns(1))?;
        println!("counted");
        Ok(())
    }

    async fn limits(&self, wanted: &str, most: u64) -> Result<(), Failure> {
        let (mut granted, mut passed) = (0, 0);
        loop {
            let before: u64 = self.cli.query(&["INCRBY", "granted", "0"]).await;
            if before >= most {
                break;
            }
            let now = match wanted {
                "all" => all(&self.locks, self).await,
                "tenant" => of_tenant(&self.locks, "acme", self).await,
                _ => of_report(&self.locks, "ACME", 7, self).await,
            }?;
            granted += 1;
            passed = passed.max(now - before);
        }
        println!("limited {wanted} {granted} {passed}");
        Ok(())
    }

    /// Counts itself inside each of these limits, and returns how many grants there were before.
    async fn inside(&self, limits: &[(&str, i64)]) -> Result<u64, Failure> {
        for (counter, limit) in limits {
            let inside: i64 = self.cli.query(&["INCR", counter]).await;
            if inside > *limit {
                return Err(format!("{counter}: {inside} of {limit}").into());
            }
        }
        let granted: u64 = self.cli.query(&["INCR", "granted"]).await;
        for (counter, _) in limits {
            let _left: i64 = self.cli.query(&["DECR", counter]).await;
        }
        Ok(granted)
    }

    fn ask(&self, kind: &str, key: &str) -> Result<lock_core::Acquire, Failure> {
        let kind = match kind {
            "fair" => Kind::Fair,
            "fair_read_write" => Kind::FairReadWrite,
            "read_write" => Kind::ReadWrite,
            _ => return Err(format!("no kind {kind}").into()),
        };
        Ok(self.locks.write(key).kind(kind).wait(WAIT))
    }

    async fn write(&self, log: &str, line: &str) {
        let _id: String = self.cli.query(&["XADD", log, "*", "line", line]).await;
    }
}

const ALL: (&str, i64) = ("in_use:all", 3);
const TENANT: (&str, i64) = ("in_use:tenant", 2);
const REPORT: (&str, i64) = ("in_use:report", 1);

#[distributed_lock(all(semaphore("exports", permits = 3)), client = locks, wait = "5m")]
async fn all(locks: &LockClient, member: &Member) -> Result<u64, Failure> {
    member.inside(&[ALL]).await
}

#[distributed_lock(
    all(semaphore("exports", permits = 3), semaphore("exports:{tenant}", permits = 2)),
    client = locks,
    wait = "5m"
)]
async fn of_tenant(locks: &LockClient, tenant: &str, member: &Member) -> Result<u64, Failure> {
    member.inside(&[ALL, TENANT]).await
}

#[distributed_lock(
    all(
        semaphore("exports", permits = 3),
        semaphore("exports:{tenant:lower}", permits = 2),
        write("report:{id}"),
    ),
    client = locks,
    wait = "5m"
)]
async fn of_report(
    locks: &LockClient,
    tenant: &str,
    id: u64,
    member: &Member,
) -> Result<u64, Failure> {
    member.inside(&[ALL, TENANT, REPORT]).await
}
