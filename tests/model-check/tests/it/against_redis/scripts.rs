//! Random steps of random owners, with random things in their way.

use std::{mem::discriminant, time::Duration};

use lock_core::{
    Kind, LockKey, Mode,
    test_util::{Ask, NATIVE_SCRIPTS, PlainCall, SCRIPTS, ScriptCaller, Step, sent_text},
};
use lock_model_check::{lua::Interpreter, redis::Redis, texts::Texts};
use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{Config, TestRng, TestRunner},
};

use crate::against_redis::{
    compare::{keys, same, same_keys},
    server::{OWNERS, Server},
};

/// Times far apart, so that a moment more or less makes no difference.
const MINUTES: [u64; 4] = [10, 20, 40, 80];
pub(crate) const KINDS: [Kind; 5] =
    [Kind::ReadWrite, Kind::FairReadWrite, Kind::Reentrant, Kind::Fair, Kind::Semaphore];
/// What is no number, or none that is taken.
const NONSENSE: [&str; 8] = ["", "0", "-1", "1.5", "abc", "1e400", "nan", "9223372036854775807"];
/// Whatever may stand in the way of a script.
const IN_THE_WAY: &[&[&str]] = &[
    &["set", "k", "7"],
    &["rpush", "k", "x"],
    &["hset", "k", "x", "y"],
    &["set", "lock_waiters:{k}", "7"],
    &["rpush", "lock_waiters:{k}", "x"],
    &["set", "redisson_lock_token:{k}", "x"],
    &["set", "redisson_lock_token:{k}", "9007199254740991"],
    &["set", "redisson_lock_queue:{k}", "x"],
    &["set", "{k}:timeout", "x"],
    &["set", "lock_alive:{k}", "x"],
    &["del", "lock_waiters:{k}"],
    &["del", "k"],
    &["del", "lock_alive:{k}"],
    &["del", "redisson_lock_timeout:{k}"],
    &["rpush", "redisson_lock_queue:{k}", "0-0-40-0-f:1"],
    &["zadd", "redisson_lock_timeout:{k}", "9", "0-0-40-0-f:1"],
];

/// The same on the native wire.
const IN_THE_NATIVE_WAY: &[&[&str]] = &[
    &["set", "k", "7"],
    &["rpush", "k", "x"],
    &["set", "k", "lt1e-"],
    &["set", "k", "lt1rw0-0-80-0-f:1 0 1 9"],
    &["set", "k", "lt2e-9|w:0-0-80-0-f:1 9"],
    &["set", "k", "lt2rw0-0-80-0-f:1 0 1 4102444800000 4102444800000|w:0-0-80-0-f:1 4102444800000"],
    &["set", "k", "lt2rw|"],
    &["set", "lock_line:{k}", "7"],
    &["set", "lock_places:{k}", "x"],
    &["set", "lock_token:", "x"],
    &["set", "lock_token:", "9007199254740991"],
    &["del", "lock_line:{k}"],
    &["del", "lock_places:{k}"],
    &["del", "lock_token:"],
    &["del", "k"],
    &["zadd", "lock_places:{k}", "9", "w:0-0-80-0-f:1"],
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Redisson,
    Native,
}

#[derive(Debug, Clone)]
enum Happens {
    Step {
        kind: Kind,
        owner: &'static str,
        step: Step,
    },
    /// The same with an argument that is none.
    Nonsense {
        kind: Kind,
        owner: &'static str,
        step: Step,
        which: Index,
        what: &'static str,
    },
    All {
        kinds: Vec<(Kind, &'static str)>,
        ask: Ask,
    },
    /// The plain commands for a free lock.
    TakeFree {
        kind: Kind,
        owner: &'static str,
        ask: Ask,
    },
    /// Several waiters leave together.
    Leave {
        kind: Kind,
        owners: Vec<(&'static str, Mode)>,
    },
    /// A hold goes to another owner.
    Transfer {
        kind: Kind,
        owner: &'static str,
        mode: Mode,
        to: &'static str,
    },
    InTheWay(&'static [&'static str]),
    TimePasses(u64),
    /// Redis is at its memory limit, or is not.
    MemoryLimit(bool),
}

fn minutes() -> impl Strategy<Value = Duration> {
    prop::sample::select(&MINUTES[..]).prop_map(|minutes| Duration::from_secs(minutes * 60))
}

fn mode() -> impl Strategy<Value = Mode> {
    prop::sample::select(&[Mode::Read, Mode::Write][..])
}

fn ask() -> impl Strategy<Value = Ask> {
    let waits = (any::<bool>(), prop::option::of(minutes()), prop::option::of(minutes()));
    (mode(), 1..=3_u32, minutes(), waits, (0..=2_u32, 1..=2_u32)).prop_map(
        |(mode, holds, lease, (yields, place, waited), (permits, wanted_permits))| {
            let waited = waited.unwrap_or_default();
            Ask { mode, holds, lease, yields, place, waited, permits, wanted_permits }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => ask().prop_map(Step::Acquire),
        4 => (mode(), 0..=2_u32, any::<bool>())
            .prop_map(|(mode, holds, in_line)| Step::Release { mode, holds, in_line }),
        2 => (mode(), minutes()).prop_map(|(mode, lease)| Step::Renew { mode, lease }),
        1 => (0..=2_u32, 1..=2_u32, minutes())
            .prop_map(|(reads, writes, lease)| Step::Upgrade { reads, writes, lease }),
        1 => (1..=2_u32, 0..=2_u32, minutes())
            .prop_map(|(reads, writes, lease)| Step::Downgrade { reads, writes, lease }),
        1 => (0..=3_u32).prop_map(|permits| Step::SetPermits { permits }),
        1 => (0..=3_u32).prop_map(|permits| Step::FreePermits { permits }),
        1 => Just(Step::TakeAway),
    ]
}

fn happens(wire: Wire, kind: Kind) -> BoxedStrategy<Happens> {
    let any = on_any_wire(wire, kind);
    if wire == Wire::Redisson {
        return any.boxed();
    }
    let waiter = (prop::sample::select(&OWNERS[..]), mode());
    prop_oneof![
        8 => any,
        1 => (prop::sample::select(&OWNERS[..]), ask())
            .prop_map(move |(owner, ask)| Happens::TakeFree { kind, owner, ask }),
        1 => prop::collection::vec(waiter, 1..3)
            .prop_map(move |owners| Happens::Leave { kind, owners }),
    ]
    .boxed()
}

fn on_any_wire(wire: Wire, kind: Kind) -> impl Strategy<Value = Happens> {
    let in_the_way = if wire == Wire::Native { IN_THE_NATIVE_WAY } else { IN_THE_WAY };
    // Mostly one kind, or nothing would ever be held for long.
    let kinds = prop_oneof![9 => Just(kind), 1 => prop::sample::select(&KINDS[..])];
    let who = (kinds, prop::sample::select(&OWNERS[..]), step()).boxed();
    prop_oneof![
        12 => who.clone().prop_map(|(kind, owner, step)| Happens::Step { kind, owner, step }),
        1 => (who, any::<Index>(), prop::sample::select(&NONSENSE[..])).prop_map(
            |((kind, owner, step), which, what)| Happens::Nonsense { kind, owner, step, which, what }
        ),
        1 => (prop::collection::vec((Just(kind), prop::sample::select(&OWNERS[..])), 1..3), ask())
            .prop_map(|(kinds, ask)| Happens::All { kinds, ask }),
        1 => (Just(kind), prop::sample::select(&OWNERS[..]), mode(), prop::sample::select(&OWNERS[..]))
            .prop_map(|(kind, owner, mode, to)| Happens::Transfer { kind, owner, mode, to }),
        1 => prop::sample::select(in_the_way).prop_map(Happens::InTheWay),
        2 => prop::sample::select(&MINUTES[..]).prop_map(|it| Happens::TimePasses(it + 3)),
        1 => any::<bool>().prop_map(Happens::MemoryLimit),
    ]
}

pub(crate) fn caller(wire: Wire, kind: Kind, owner: &str) -> ScriptCaller {
    let key = LockKey::try_from("k").expect("a key");
    // Sixteen bytes that are text, in hexadecimal digits.
    let permit = || format!("permit-number-{owner}{owner}");
    let name = match kind {
        Kind::Semaphore => permit().bytes().map(|byte| format!("{byte:02x}")).collect(),
        _ => format!("0-0-80-0-{owner}:1"),
    };
    match wire {
        Wire::Redisson => ScriptCaller::new(kind, &key, &name),
        Wire::Native => ScriptCaller::native(kind, &key, &format!("0-0-80-0-{owner}"), &name, 0),
    }
}

/// What a read/write lock alone can be requested is requested of no other.
pub(crate) fn call(wire: Wire, kind: Kind, owner: &str, step: Step) -> PlainCall {
    let shared = matches!(kind, Kind::ReadWrite | Kind::FairReadWrite);
    let kind = match step {
        Step::Upgrade { .. } | Step::Downgrade { .. } if !shared => Kind::ReadWrite,
        Step::SetPermits { .. } | Step::FreePermits { .. } => Kind::Semaphore,
        _ => kind,
    };
    let step = match step {
        Step::SetPermits { permits } if wire == Wire::Native => Step::FreePermits { permits },
        step => step,
    };
    caller(wire, kind, owner).call(step, "7")
}

struct Both<'a> {
    wire: Wire,
    server: &'a Server,
    lua: &'a Interpreter,
    fake: Redis,
    /// By how much the clock in memory is ahead.
    ahead_us: i64,
}

impl Both<'_> {
    /// The same moment for both; the real server's.
    async fn now(&mut self) -> i64 {
        let real = self.server.now_us().await;
        self.fake.advance_us(real + self.ahead_us - self.fake.now_us());
        real / 1_000
    }

    async fn is_asked(&mut self, words: &[&str]) -> Result<(), TestCaseError> {
        let bytes: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().into()).collect();
        let (said, real) = (self.fake.call(&bytes), self.server.ask(words).await);
        prop_assert!(same(&said, 0, &real, 0), "{words:?}: {said:?}, Redis says {real:?}");
        Ok(())
    }

    async fn happens(&mut self, what: &Happens) -> Result<(), TestCaseError> {
        let (now, wire) = (self.now().await, self.wire);
        let call = match what {
            Happens::Step { kind, owner, step } => call(wire, *kind, owner, *step),
            Happens::Nonsense { kind, owner, step, which, what } => {
                let mut call = call(wire, *kind, owner, *step);
                let at = which.index(call.args.len());
                call.args[at] = what.as_bytes().to_vec();
                call
            }
            Happens::All { kinds, ask } => {
                let callers: Vec<_> =
                    kinds.iter().map(|(kind, owner)| caller(wire, *kind, owner)).collect();
                let members: Vec<_> = callers.iter().map(|caller| (caller, *ask)).collect();
                ScriptCaller::call_all(&members, "7")
            }
            Happens::TakeFree { kind, owner, ask } => {
                // What the third reads may have a time in it, of another clock.
                for words in caller(wire, *kind, owner).take_free(*ask).into_iter().take(2) {
                    let words =
                        words.into_iter().map(|word| String::from_utf8(word).expect("text"));
                    let words: Vec<String> = words.collect();
                    self.is_asked(&words.iter().map(String::as_str).collect::<Vec<_>>()).await?;
                }
                return Ok(());
            }
            Happens::Leave { kind, owners } => {
                let callers: Vec<_> = owners
                    .iter()
                    .map(|(owner, mode)| (caller(wire, *kind, owner), *mode))
                    .collect();
                let waiters: Vec<_> =
                    callers.iter().map(|(caller, mode)| (caller, *mode)).collect();
                ScriptCaller::leave(&waiters, "7")
            }
            Happens::Transfer { kind, owner, mode, to } => {
                caller(wire, *kind, owner).transfer(*mode, &caller(wire, *kind, to), "7")
            }
            Happens::MemoryLimit(full) => {
                self.server.fill(*full).await;
                self.fake.fill(*full);
                return Ok(());
            }
            Happens::InTheWay(words) => return self.is_asked(words).await,
            Happens::TimePasses(minutes) => {
                let ms = i64::try_from(minutes * 60_000).expect("not so many");
                // What makes the data older writes it.
                self.server.fill(false).await;
                self.server.age(ms).await;
                self.server.fill(self.fake.is_full()).await;
                self.ahead_us += ms * 1_000;
                return Ok(());
            }
        };
        let mut scripts = SCRIPTS.iter().chain(NATIVE_SCRIPTS);
        let text = scripts.find(|script| script.name == call.script).expect("a script").text;
        let real = self.server.run(&sent_text(text), &call).await;
        let said = self.lua.run(&mut self.fake, &call);
        let alike = discriminant(&said) == discriminant(&real);
        let (said, real) = (said.in_parts(), real.in_parts());
        let is_same = alike && same(&said, self.fake.now_ms(), &real, now);
        prop_assert!(is_same, "{call:?}: {said:?}, Redis says {real:?}");
        Ok(())
    }

    async fn is_same(&mut self) -> Result<(), TestCaseError> {
        let now = self.now().await;
        let (fake, real) = (keys(&self.fake), self.server.keys(now).await);
        prop_assert!(same_keys(&fake, &real), "{fake:#?}, in Redis {real:#?}");
        Ok(())
    }
}

#[test]
fn random_scripts_do_the_same_on_a_real_server() {
    random_scripts_do_the_same(Wire::Redisson);
}

#[test]
fn random_scripts_of_the_native_wire_do_the_same_on_a_real_server() {
    random_scripts_do_the_same(Wire::Native);
}

fn random_scripts_do_the_same(wire: Wire) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server = runtime.block_on(Server::start());
    let lua = Interpreter::of_thread(&Texts::real());
    let histories = prop::sample::select(&KINDS[..])
        .prop_flat_map(move |kind| prop::collection::vec(happens(wire, kind), 1..25));
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    let tried = TestRunner::new_with_rng(config, rng).run(&histories, |history| {
        // Some keys stand for ten milliseconds only. If the machine pauses longer than that between the
        // two, they differ by one key; a difference of the scripts is there each time.
        let run = || runtime.block_on(run_on_both(wire, &server, &lua, &history));
        run().or_else(|_| run()).or_else(|_| run())
    });
    tried.unwrap_or_else(|failure| panic!("{failure}"));
}

async fn run_on_both(
    wire: Wire,
    server: &Server,
    lua: &Interpreter,
    history: &[Happens],
) -> Result<(), TestCaseError> {
    server.ask(&["FLUSHALL"]).await;
    server.fill(false).await;
    let fake = Redis::at(server.now_us().await);
    let mut both = Both { wire, server, lua, fake, ahead_us: 0 };
    for what in history {
        both.happens(what).await?;
        both.is_same().await?;
    }
    Ok(())
}
