//! A library that writes down each call. Names, types and signatures are the real one's.
#![allow(unreachable_pub)]

pub mod __private {
    use std::future::Future;
    use std::sync::{Arc, Mutex};

    pub use lock_key::{KeyPart, KeyWriter, PlaceholderType, ValueError};
    use std::time::Duration;

    #[derive(Debug, Clone, PartialEq)]
    pub enum Mode {
        Read,
        Write,
    }

    #[derive(Debug, Clone, PartialEq)]
    pub enum Kind {
        ReadWrite,
        FairReadWrite,
        Reentrant,
        NonReentrant,
        Fair,
        Fenced,
        Semaphore,
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    pub enum Outcome {
        Busy,
        Skipped,
        Deadlock,
        Overloaded,
        OverLimit,
        Unavailable,
        Draining,
        Lost,
    }

    #[derive(Debug, Clone, PartialEq)]
    pub struct LockSpec {
        pub kind: Kind,
        pub mode: Mode,
        pub permits: u32,
        pub weight: u32,
    }

    #[derive(Debug, Clone, PartialEq)]
    pub struct DeclaredKey {
        pub template: &'static str,
        pub own: Option<LockSpec>,
    }

    #[derive(Debug, Clone, PartialEq)]
    pub struct Spec {
        pub name: &'static str,
        pub keys: &'static [DeclaredKey],
        pub kind: Kind,
        pub mode: Mode,
        pub wait: Option<Duration>,
        pub lease: Option<Duration>,
        pub max_hold: Option<Duration>,
        pub hold_at_least: Option<Duration>,
        pub replace_after: Option<Duration>,
        pub skips_if_busy: bool,
        pub limit_principals: Option<usize>,
        pub renew: Option<bool>,
        pub permits: Option<u32>,
        pub weight: Option<u32>,
        pub statuses: &'static [(Outcome, u16)],
    }

    pub struct DeclaredLock(Spec);

    impl DeclaredLock {
        pub const fn new(spec: Spec) -> Self {
            Self(spec)
        }
    }

    /// The request of a call.
    #[derive(Debug, Clone)]
    pub struct Requested {
        pub spec: Spec,
        pub keys: Result<Vec<String>, ValueError>,
        pub principal: Option<Result<String, ValueError>>,
    }

    #[derive(Clone, Default)]
    pub struct LockClient {
        pub requested: Arc<Mutex<Vec<Requested>>>,
        pub refuse: bool,
        pub slots: Arc<Mutex<Option<Slots>>>,
    }

    impl LockClient {
        fn record(
            &self,
            lock: &DeclaredLock,
            keys: impl IntoIterator<Item = Result<String, ValueError>>,
            principal: Option<Result<String, ValueError>>,
        ) {
            let (spec, keys) = (lock.0.clone(), keys.into_iter().collect());
            self.requested.lock().unwrap().push(Requested { spec, keys, principal });
        }
    }

    pub struct LayerHandle(pub LockClient);
    pub struct StateHandle(pub LockClient);

    pub trait Handle {
        fn client(&self) -> &LockClient;
    }

    impl Handle for LayerHandle {
        fn client(&self) -> &LockClient {
            &self.0
        }
    }

    impl Handle for StateHandle {
        fn client(&self) -> &LockClient {
            &self.0
        }
    }

    tokio::task_local! {
        pub static AMBIENT: LockClient;
    }

    pub fn ambient_handle() -> LayerHandle {
        LayerHandle(AMBIENT.get())
    }

    /// The work's output, shown, and the span in which the lock was requested.
    #[derive(Debug, PartialEq)]
    pub struct Response {
        pub output: String,
        pub asked_in: Option<&'static str>,
    }

    pub async fn run_handler<H, F>(
        handle: H,
        lock: &DeclaredLock,
        keys: impl IntoIterator<Item = Result<String, ValueError>>,
        principal: Option<Result<String, ValueError>>,
        work: F,
    ) -> Response
    where
        H: Handle,
        F: Future,
        F::Output: std::fmt::Debug,
    {
        handle.client().record(lock, keys, principal);
        let asked_in = tracing::Span::current().metadata().map(|span| span.name());
        Response { output: format!("{:?}", work.await), asked_in }
    }

    #[derive(Debug, PartialEq)]
    pub struct LockError;

    pub async fn run<F: Future>(
        client: &LockClient,
        lock: &DeclaredLock,
        keys: impl IntoIterator<Item = Result<String, ValueError>>,
        work: F,
    ) -> Result<F::Output, LockError> {
        client.record(lock, keys, None);
        if client.refuse {
            return Err(LockError);
        }
        Ok(work.await)
    }

    #[derive(Debug, Clone, PartialEq)]
    pub enum Slots {
        Every(Duration),
        Cron(&'static str),
    }

    impl Slots {
        pub fn every(length: Duration) -> Self {
            Self::Every(length)
        }
    }

    pub fn cron_slots(expression: &'static str) -> Slots {
        Slots::Cron(expression)
    }

    pub async fn run_once_per<F: Future>(
        client: &LockClient,
        lock: &DeclaredLock,
        slots: Slots,
        keys: impl IntoIterator<Item = Result<String, ValueError>>,
        work: F,
    ) -> Result<Option<F::Output>, LockError> {
        client.record(lock, keys, None);
        let is_new = client.slots.lock().unwrap().replace(slots).is_none();
        if client.refuse {
            return Err(LockError);
        }
        Ok(if is_new { Some(work.await) } else { None })
    }

    pub fn skipped<T, E>() -> Result<Option<T>, E> {
        Ok(None)
    }

    pub async fn not_finished<T, E: From<LockError>>(error: LockError) -> Result<T, E> {
        Err(error.into())
    }
}
