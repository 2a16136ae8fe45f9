//! A peer that executes commands: a process in Rust, or a session in a Java process.

use std::{
    panic::Location,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use lock_tests::{Cli, JavaProgram, LIMIT, Process, PythonProgram};
use tokio::time::timeout;

use crate::interop::session::{Jvm, Session};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Java,
    Rust,
}
pub(crate) use Language::{Java, Rust};

impl Language {
    pub(crate) fn other(self) -> Self {
        match self {
            Java => Rust,
            Rust => Java,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Peer {
    process: Arc<Process>,
    /// Of Java.
    session: Option<Arc<Session>>,
}

/// One of each language.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) java: Peer,
    pub(crate) rust: Peer,
}

impl Pair {
    pub(crate) fn of(&self, language: Language) -> &Peer {
        match language {
            Java => &self.java,
            Rust => &self.rust,
        }
    }
}

/// How long a woken waiter has to be granted the lock before the message is repeated.
const REPORTED: Duration = Duration::from_secs(3);

/// One line that was sent, and may be answered later.
#[derive(Debug)]
pub(crate) struct Requested {
    process: Arc<Process>,
    line: String,
    begin: String,
}

impl Peer {
    /// Starts a Rust process.
    pub(crate) async fn rust(settings: &[(&str, String)]) -> Self {
        let mut builder = Process::builder(env!("CARGO_BIN_EXE_peer"));
        for (name, value) in settings {
            builder = builder.env(name, value);
        }
        let process = builder.hears().start();
        process.line("ready", 2 * LIMIT).await;
        Self { process: Arc::new(process), session: None }
    }

    /// Starts a Python process.
    pub(crate) async fn python(program: PythonProgram, settings: &[(&str, String)]) -> Self {
        let process = program.start(settings).await;
        process.line("ready", 2 * LIMIT).await;
        Self { process: Arc::new(process), session: None }
    }

    /// Opens a session in a Java process. It is closed with the last copy of the peer.
    pub(crate) async fn java(
        jvm: Jvm,
        program: impl Into<JavaProgram>,
        settings: &[(&str, String)],
    ) -> Self {
        let process = jvm.of(program.into()).await;
        let session = Some(Arc::new(Session::of(&process, jvm)));
        let peer = Self { process, session };
        let settings: Vec<_> =
            settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let open = peer.tell("main", format!("open {}", settings.join(" ")));
        assert_eq!(open.answer_within(2 * LIMIT).await, "open");
        peer
    }

    /// Sends a command to a thread of the peer: `acquire write key 1000 0`.
    pub(crate) fn tell(&self, thread: &str, words: impl AsRef<str>) -> Requested {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let words = words.as_ref();
        let line = match &self.session {
            Some(session) => format!("{id} {session}/{thread} {words}"),
            None => format!("{id} {thread} {words}"),
        };
        self.process.say(&line);
        Requested { process: Arc::clone(&self.process), line, begin: format!("#{id} ") }
    }

    /// As [`tell`](Self::tell), with the answer, whatever it is.
    #[track_caller]
    pub(crate) fn ask(&self, thread: &str, words: impl AsRef<str>) -> impl Future<Output = String> {
        self.tell(thread, words).answer_within(LIMIT)
    }

    /// As [`tell`](Self::tell), where one answer alone will do.
    #[track_caller]
    pub(crate) fn must(
        &self,
        answer: &str,
        thread: &str,
        words: impl AsRef<str>,
    ) -> impl Future<Output = ()> {
        self.tell(thread, words).must(answer)
    }

    /// SIGKILL.
    pub(crate) fn kill(&self) {
        self.own_process().kill();
    }

    /// SIGSTOP.
    pub(crate) fn pause(&self) {
        self.own_process().pause();
    }

    /// SIGCONT.
    pub(crate) fn resume(&self) {
        self.own_process().resume();
    }

    fn own_process(&self) -> &Process {
        let is_shared = self.session.as_ref().is_some_and(|session| session.jvm == Jvm::Shared);
        assert!(!is_shared, "other tests use this process: start one with `Jvm::Own`");
        &self.process
    }
}

impl Requested {
    pub(crate) fn is_answered(&self) -> bool {
        self.process.has_line(&self.begin)
    }

    /// Returns when there is an answer.
    pub(crate) async fn answered(&self) {
        self.process.line(&self.begin, 2 * LIMIT).await;
    }

    /// Whether there was an answer before the message that the peer waits for was sent again. A
    /// waiter of Redisson's misses a message that arrives between its last try and its sleep.
    pub(crate) async fn answered_at_once(&self, cli: &Cli) -> bool {
        self.answered_before(async || {
            let received: Vec<String> = cli.query(&["PUBSUB", "CHANNELS", "redisson_*"]).await;
            for channel in received {
                cli.publish(&channel, "1").await;
            }
        })
        .await
    }

    /// The same, in another form.
    pub(crate) async fn answered_before(&self, told_again: impl AsyncFn()) -> bool {
        let at_once = timeout(REPORTED, self.answered()).await.is_ok();
        while !self.is_answered() {
            told_again().await;
            let _ = timeout(REPORTED, self.answered()).await;
        }
        at_once
    }

    #[track_caller]
    pub(crate) fn answer_within(self, limit: Duration) -> impl Future<Output = String> {
        let caller = Location::caller();
        async move {
            // The shorter limit decides which one waits.
            let line = timeout(limit, self.process.line(&self.begin, 2 * limit)).await;
            let Ok(line) = line else {
                panic!("{caller}: no answer to {:?} in {limit:?}", self.line);
            };
            line[self.begin.len()..].to_owned()
        }
    }

    /// One answer alone will do. Tokens and permits that follow it do not count.
    #[track_caller]
    pub(crate) fn must(self, answer: &str) -> impl Future<Output = ()> {
        let caller = Location::caller();
        async move {
            let said = timeout(LIMIT, self.process.line(&self.begin, 2 * LIMIT)).await;
            let Ok(said) = said else {
                panic!("{caller}: no answer to {:?} in {LIMIT:?}", self.line);
            };
            let word = said.split(' ').nth(1).unwrap_or_default();
            assert_eq!(word, answer, "{caller}: {said:?} to {:?}", self.line);
        }
    }
}
