//! A policy file that is rewritten while two replicas are busy: no request is refused, no count
//! lost.

use std::{
    path::{Path as FilePath, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{Router, extract::Path, routing::post};
use futures_util::{StreamExt, stream};
use lock_tests::{LIMIT, RedisServer, bounded, eventually, http};
use lock_tower::{
    LockClient,
    policies::{Policies, PoliciesError},
};

use crate::end_to_end::local_service::LocalService;

const KEYS: usize = 20;
/// At least, and until the file was rewritten that often.
const REQUESTS: usize = 2_400;
const VERSIONS: u64 = 40;
const AT_ONCE: usize = 60;

type Counters = Arc<[AtomicU64; KEYS]>;

/// A file that is `number` in its texts. The rule for the counters waits and leases otherwise each
/// time, and others come and go beside it.
fn version(number: u64) -> String {
    let (wait, lease, status) =
        (20 + number % 7, 5 + number % 11, [423, 409, 429][number as usize % 3]);
    format!(
        "version = 1\n\
         [[policy]]\nname = \"other-{number}\"\nmatch = {{ path = \"/other-{number}/{{id}}\" }}\n\
         key = \"other-{number}:{{id}}\"\n\
         [[policy]]\nname = \"counter\"\nmatch = {{ path = \"/counters/{{id}}\" }}\n\
         key = \"counter:{{id:u64}}\"\nwait = \"{wait}s\"\nlease = \"{lease}s\"\n\
         max_waiters = {}\nbusy_status = {status}\nbusy_detail = \"Version {number}.\"\n",
        500 + number,
    )
}

/// One that must not come into force: it is wrong, or would not exclude those before.
fn broken(number: u64) -> String {
    match number % 3 {
        0 => version(number).replace("wait = ", "wiat = "),
        1 => version(number).replace("counter:{id:u64}", "counter-of:{id:u64}"),
        _ => version(number).split("max_waiters").next().unwrap().to_owned() + "max_",
    }
}

struct Replica {
    policies: Policies,
    service: LocalService,
}

async fn replica(redis: &RedisServer, file: &FilePath, counters: &Counters) -> Replica {
    // So that a machine that stands still for a moment refuses no request.
    let locks = LockClient::builder().command_timeout(LIMIT);
    let locks = locks.connect(&redis.url()).await.unwrap();
    let policies = Policies::builder(locks).read(file).unwrap();
    let counters = Arc::clone(counters);
    // Reads, lets others run, and writes: two handlers at once would lose a count.
    let count = async move |Path(id): Path<usize>| {
        let before = counters[id].load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(1)).await;
        counters[id].store(before + 1, Ordering::Relaxed);
        before.to_string()
    };
    let app = Router::new().route("/counters/{id}", post(count)).route_layer(policies.layer());
    Replica { policies, service: LocalService::start(app).await }
}

/// In one step, as a deployment does it.
fn put(file: &FilePath, text: &str) {
    let beside: PathBuf = file.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, file).unwrap();
}

/// The state shared by the load and the task that rewrites the file.
#[derive(Default)]
struct Load {
    versions: AtomicU64,
    has_ended: AtomicBool,
}

impl Load {
    /// Whether the `nth` request is to be sent; each counter has as many.
    fn goes_on(&self, nth: usize) -> bool {
        let is_enough = nth >= REQUESTS && self.versions.load(Ordering::Relaxed) >= VERSIONS;
        !nth.is_multiple_of(2 * KEYS) || !is_enough
    }
}

/// Rewrites the file until the `load` has ended: how many versions came into force, and how many were refused.
async fn rewrite(file: &FilePath, replicas: &[Replica], load: &Load) -> (u64, u64) {
    let (mut applied, mut refused) = (1, 0);
    while !load.has_ended.load(Ordering::Relaxed) {
        let number = applied + refused;
        load.versions.store(number, Ordering::Relaxed);
        let is_broken = number % 4 == 3;
        put(file, &if is_broken { broken(number / 4) } else { version(number) });
        for Replica { policies, .. } in replicas {
            let policies = policies.clone();
            let reloaded = tokio::task::spawn_blocking(move || policies.reload());
            match reloaded.await.unwrap() {
                Ok(version) => assert!(!is_broken && version.number == applied + 1),
                Err(PoliciesError::File(_) | PoliciesError::ExclusionChanged(_)) => {
                    assert!(is_broken);
                }
                Err(error) => panic!("{error}"),
            }
        }
        if is_broken {
            refused += 1
        } else {
            applied += 1
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (applied, refused)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reload_under_load_refuses_no_request_and_doubles_none() {
    let redis = RedisServer::start().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("locks.toml");
    put(&file, &version(0));
    let counters = Counters::new(std::array::from_fn(|_| AtomicU64::new(0)));
    let replicas =
        [replica(&redis, &file, &counters).await, replica(&redis, &file, &counters).await];
    let busy = Load::default();

    let load = async {
        let requests = stream::iter((0..).take_while(|nth| busy.goes_on(*nth))).map(|nth| {
            let path = format!("/counters/{}", nth / 2 % KEYS);
            let url = replicas[nth % 2].service.url(&path);
            async move { http::post(&url, "").await }
        });
        let replies: Vec<_> = requests.buffer_unordered(AT_ONCE).collect().await;
        busy.has_ended.store(true, Ordering::Relaxed);
        replies
    };
    let (replies, (applied, refused)) =
        bounded(LIMIT * 4, async { tokio::join!(load, rewrite(&file, &replicas, &busy)) }).await;

    let other: Vec<_> = replies.iter().filter(|reply| reply.status != 200).collect();
    assert!(other.is_empty(), "{} refused, first {:?}", other.len(), other[0].text());
    let counted: Vec<_> = counters.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    assert_eq!(counted, vec![(replies.len() / KEYS) as u64; KEYS]);
    assert!(replies.len() >= REQUESTS && refused >= 9, "{applied} {refused}");
    for Replica { policies, .. } in &replicas {
        assert_eq!(policies.version().number, applied);
    }
}

/// A watched file comes into force in every replica without a call.
#[tokio::test]
async fn replicas_that_watch_come_to_the_same_version() {
    let redis = RedisServer::start().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("locks.toml");
    put(&file, &version(0));
    let counters = Counters::new(std::array::from_fn(|_| AtomicU64::new(0)));
    let replicas =
        [replica(&redis, &file, &counters).await, replica(&redis, &file, &counters).await];
    for replica in &replicas {
        replica.policies.watch();
    }
    let before = replicas[0].policies.version();
    put(&file, &version(1));
    eventually("the new version", LIMIT, async || {
        let [one, other] = replicas.each_ref().map(|replica| replica.policies.version());
        one == other && one.id != before.id
    })
    .await;
}
