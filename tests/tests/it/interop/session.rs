//! A part of a Java process: the clients that it has for one peer.

use std::{
    collections::HashSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use lock_tests::{JavaProgram, LIMIT, Process, Redisson, class_path, eventually};
use tokio::sync::OnceCell;

use crate::interop::{peer::Java, shared_redis::SharedRedis};

/// In which process a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jvm {
    /// The one of all tests: a virtual machine needs a second of a processor to start, and more until its
    /// code is fast. Clients of Redisson or Curator have nothing in common but the virtual machine.
    Shared,
    /// One for this session, which the test can kill.
    Own,
}

impl Jvm {
    pub(crate) async fn of(self, program: JavaProgram) -> Arc<Process> {
        // The pipe to its standard input ends with the test program, however that ends, and so does it.
        static CURRENT: OnceCell<Arc<Process>> = OnceCell::const_new();
        static OLDER: OnceCell<Arc<Process>> = OnceCell::const_new();
        static CURATOR: OnceCell<Arc<Process>> = OnceCell::const_new();
        let shared = match program {
            JavaProgram::Redisson(Redisson::Current) => &CURRENT,
            JavaProgram::Redisson(Redisson::Older) => &OLDER,
            JavaProgram::Curator => &CURATOR,
        };
        match self {
            Self::Shared => Arc::clone(shared.get_or_init(|| start(program, "-Xmx512m")).await),
            Self::Own => start(program, "-Xmx128m").await,
        }
    }
}

async fn start(program: JavaProgram, memory: &str) -> Arc<Process> {
    let main = match program {
        JavaProgram::Redisson(_) => "peer.Peer",
        JavaProgram::Curator => "curatorpeer.Peer",
    };
    // Quick to start: these processes live for seconds or a few minutes.
    let process = Process::builder("java")
        .arg(memory)
        .arg("-XX:+UseSerialGC")
        .arg("-XX:TieredStopAtLevel=1")
        .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
        .arg("-cp")
        .arg(class_path(program).await)
        .arg(main)
        .hears()
        .start();
    process.line("ready", 2 * LIMIT).await;
    Arc::new(process)
}

/// Closed on drop: its clients have no connections then, and hold and renew nothing.
#[derive(Debug)]
pub(crate) struct Session {
    process: Arc<Process>,
    pub(crate) jvm: Jvm,
    number: u32,
}

impl Session {
    pub(crate) fn of(process: &Arc<Process>, jvm: Jvm) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { process: Arc::clone(process), jvm, number }
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A process that was killed has none.
        let _ = self.process.try_say(&format!("- {self}/main close"));
    }
}

#[tokio::test]
async fn a_closed_session_has_no_connections_and_no_waiters() {
    let world = SharedRedis::start(Redisson::Current).await;
    let closed = world.peer(Java).await;
    let ids = async || -> HashSet<String> {
        world.cli.client_list().await.iter().map(|client| client.id().to_owned()).collect()
    };
    let connections = ids().await;
    assert!(!connections.is_empty());
    // In the same process.
    let open = world.peer(Java).await;
    open.must("held", "a", "acquire write k 0 600000").await;
    let _waits = closed.tell("a", "acquire write k 60000 0");
    let channels = || world.cli.query::<Vec<String>>(&["PUBSUB", "CHANNELS", "redisson_rwlock:*"]);
    eventually("a waiter", LIMIT, async || !channels().await.is_empty()).await;
    drop(closed);
    eventually("the end of its wait", LIMIT, async || channels().await.is_empty()).await;
    let are_closed = async || ids().await.is_disjoint(&connections);
    eventually("the end of its connections", LIMIT, are_closed).await;
    open.must("released", "a", "release write k").await;
    world.is_clean().await;
}
