//! Keys may carry personal data: they are not logged unless that is enabled.

use std::{cell::RefCell, fmt::Write as _, sync::Once, time::Duration};

use lock_core::{LockClient, LockClientBuilder, LockKey, MemoryStore, test_util::lose};
use tracing::{Event, Level, Metadata, Subscriber, field::Visit, span, subscriber::Interest};

const KEY: &str = "patient:jane-doe";

thread_local! {
    /// What a test of this thread logs, a line each.
    static LINES: RefCell<Option<Vec<(Level, String)>>> = const { RefCell::new(None) };
}

static SUBSCRIBED: Once = Once::new();

/// The one subscriber of the test program. A subscriber per thread would miss events, because
/// tracing remembers for all threads together whether an event is of interest.
struct Recorder;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Recorder {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        LINES.with_borrow(Option::is_some)
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        LINES.with_borrow_mut(|lines| {
            lines
                .iter_mut()
                .for_each(|lines| lines.push((*event.metadata().level(), line.0.clone())));
        });
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// A service's worst day, as its log has it at `info` and above.
async fn log(builder: LockClientBuilder) -> Vec<String> {
    SUBSCRIBED.call_once(|| tracing::subscriber::set_global_default(Recorder).unwrap());
    LINES.set(Some(Vec::new()));
    let store = MemoryStore::new();
    let client = builder.in_memory_on(&store);
    let ask = || client.write(KEY).lease(Duration::from_secs(1)).acquire();
    let guard = ask().await.unwrap();
    assert_eq!(lose(&client, &LockKey::try_from(KEY).unwrap()), 1);
    drop(guard);
    let guard = ask().await.unwrap();
    store.set_down(true);
    guard.lost().await;
    assert!(ask().await.is_err());
    let up = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        store.set_down(false);
    };
    let leader = client.leader(KEY).name("reconciler");
    tokio::join!(leader.run(async |_| ()), up).0.unwrap();
    let scope = client.scope();
    let outer = scope.write("a").acquire().await.unwrap();
    drop((scope.write(KEY).acquire().await.unwrap(), outer));
    let outer = scope.write(KEY).acquire().await.unwrap();
    drop((scope.write("a").acquire().await.unwrap(), outer));
    let lines = LINES.take().unwrap();
    let loud = lines.into_iter().filter(|(level, _)| *level <= Level::INFO);
    loud.map(|(_, line)| line).collect()
}

#[tokio::test(start_paused = true)]
async fn no_key_is_logged_unless_enabled() {
    let lines = log(LockClient::builder()).await;
    assert_eq!(lines.iter().filter(|line| line.contains("lock lost")).count(), 2, "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("renewal failed")), "{lines:?}");
    let leader = |what: &str| {
        let lines = lines.iter().filter(|line| line.contains(what));
        lines.inspect(|line| assert!(line.contains("reconciler"), "{line}")).count()
    };
    assert_eq!(leader("cannot become the leader"), 1, "once for an outage: {lines:?}");
    assert_eq!(leader("leadership changed"), 2, "{lines:?}");
    let opposite = lines.iter().any(|line| line.contains("opposite orders"));
    assert_eq!(opposite, cfg!(debug_assertions), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains(KEY)), "{lines:?}");
}

/// An operator that takes a lock away knows of it: no engineer is to be woken.
#[tokio::test(start_paused = true)]
async fn a_lock_that_is_taken_away_is_no_warning() {
    SUBSCRIBED.call_once(|| tracing::subscriber::set_global_default(Recorder).unwrap());
    LINES.set(Some(Vec::new()));
    let client = LockClient::in_memory();
    let guard = client.write(KEY).acquire().await.unwrap();
    let taken = async {
        tokio::task::yield_now().await;
        client.force_release(KEY).await.unwrap();
    };
    tokio::join!(guard.lost(), taken);
    let lines = LINES.take().unwrap();
    let lost = lines.iter().find(|(_, line)| line.contains("lock lost"));
    assert_eq!(lost.map(|(level, _)| *level), Some(Level::INFO), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn keys_are_logged_where_that_is_allowed() {
    let lines = log(LockClient::builder().log_keys(true)).await;
    let lost = |line: &&String| line.contains("lock lost") && line.contains(KEY);
    assert_eq!(lines.iter().filter(lost).count(), 2, "{lines:?}");
    let led = |line: &&String| line.contains("leader") && line.contains(KEY);
    assert_eq!(lines.iter().filter(led).count(), 3, "{lines:?}");
}
