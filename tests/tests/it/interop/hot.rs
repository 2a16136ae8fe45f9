//! A key that goes round among the tasks of a Rust process, and a Java process that wants it too.

use futures_util::future::join_all;
use lock_tests::Redisson;

use crate::interop::{
    crowd::LIMIT,
    peer::{Java, Rust},
    shared_redis::SharedRedis,
};

/// Tasks that acquire again as soon as they have released: one hands the lock to no other, of several each
/// hands it to the next.
const CROWDS: [usize; 2] = [1, 16];
const TURNS_OF_ALL: u64 = 12_800;
const JAVA_TURNS: u64 = 20;
/// Turns of ours for each of Java's. One to three are usual; on a machine without a core to spare a woken JVM
/// comes too late now and then.
const BETWEEN_JAVAS: u64 = 10;

#[tokio::test]
async fn java_gets_turns_beside_tasks_that_take_the_lock_again_at_once() {
    let world = SharedRedis::start(Redisson::Current).await;
    let pair = world.pair().await;
    for (kind, tasks) in
        ["reentrant", "write"].into_iter().flat_map(|kind| CROWDS.map(|of| (kind, of)))
    {
        let key = format!("{kind}:{tasks}");
        let counter = format!("counter:{key}");
        let turns_of_each = TURNS_OF_ALL / tasks as u64;
        let crowd = format!("crowd {kind} {key} {counter} {turns_of_each}");
        // Its first turns take a virtual machine a while.
        let alone = format!("crowd {kind} alone counter:alone 200");
        assert_eq!(pair.java.tell("a", alone).answer_within(LIMIT).await, "done");
        let tasks: Vec<_> =
            (0..tasks).map(|at| pair.rust.tell(&format!("t{at}"), &crowd)).collect();
        let java = pair.java.tell("a", format!("crowd {kind} {key} {counter} {JAVA_TURNS}"));
        assert_eq!(java.answer_within(LIMIT).await, "done", "{key}");
        let turns: u64 = world.cli.string(&counter).await.unwrap().parse().unwrap();
        println!("{key}: {turns} turns until Java had had {JAVA_TURNS}");
        assert!(turns <= JAVA_TURNS * BETWEEN_JAVAS, "{key}: {turns}");
        for done in join_all(tasks.into_iter().map(|task| task.answer_within(LIMIT))).await {
            assert_eq!(done, "done", "{key}");
        }
    }
    world.is_clean().await;
}

const TURNS_OF_EACH_PROCESS: u64 = 1_000;

/// A release reserves the lock for the next waiter of ours, and Java's waiters are not among those.
#[tokio::test]
async fn java_gets_turns_beside_processes_with_handoff() {
    let world = SharedRedis::start(Redisson::Current).await;
    let java = world.peer(Java).await;
    let rust = join_all([Rust; 3].map(|language| world.peer(language))).await;
    for kind in ["reentrant", "write"] {
        let counter = format!("counter:{kind}");
        let crowd = format!("crowd {kind} {kind} {counter} {TURNS_OF_EACH_PROCESS}");
        let alone = format!("crowd {kind} alone counter:alone 200");
        assert_eq!(java.tell("a", alone).answer_within(LIMIT).await, "done");
        let tasks: Vec<_> = rust.iter().map(|peer| peer.tell("a", &crowd)).collect();
        let own = java.tell("a", format!("crowd {kind} {kind} {counter} {JAVA_TURNS}"));
        assert_eq!(own.answer_within(LIMIT).await, "done", "{kind}");
        let turns: u64 = world.cli.string(&counter).await.unwrap().parse().unwrap();
        println!("{kind}: {turns} turns until Java had had {JAVA_TURNS}");
        assert!(turns <= JAVA_TURNS * BETWEEN_JAVAS, "{kind}: {turns}");
        for done in join_all(tasks.into_iter().map(|task| task.answer_within(LIMIT))).await {
            assert_eq!(done, "done", "{kind}");
        }
    }
    world.is_clean().await;
}
