//! The calls of a model, each made once by the client's own code and then run again and again.

use std::{cell::RefCell, collections::HashMap, hash::Hash, rc::Rc};

use lock_core::{
    Kind, Mode,
    test_util::{PlainCall, ScriptCaller, Step},
};

use super::{
    names::{self, KNOWN, LockNames, SYMBOLS, Wire},
    native,
    op::{NONCE, Op},
    setup::{Permits, Setup},
};
use crate::{
    lua::{Interpreter, Prepared},
    redis::{Redis, Reply},
    texts::Texts,
};

/// The owner and the request of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Requested {
    /// An owner of the model.
    By(u8, Op),
    /// An owner that first tries what suffices if no other waits, on the native wire.
    ReleaseFree(u8, Mode),
    /// An operator.
    TakeAway,
    /// An operator that looks.
    Inspect,
    /// An owner that was never seen before.
    Newcomer(u32),
    /// The same with a lease that is none.
    Nonsense(usize),
}

/// Leases that Redis would refuse after the first write, or take for none at all.
pub(crate) const NONSENSE: &[&str] = &["0", "-1", "1.5", "abc", "", "9223372036854775807"];

/// A lease that [`with_nonsense`] replaces.
pub(crate) const PLACEHOLDER_LEASE: i64 = 77_777;

/// The call with one of the [`NONSENSE`] leases, for its last lock.
pub(crate) fn with_nonsense(mut call: PlainCall, which: usize) -> PlainCall {
    let placeholder = PLACEHOLDER_LEASE.to_string().into_bytes();
    let lease = call.args.iter_mut().rfind(|arg| **arg == placeholder);
    *lease.expect("BUG: a lease is requested") = NONSENSE[which].into();
    call
}

/// Runs calls, each of which is made once.
pub(crate) struct CallCache<A> {
    lua: Rc<Interpreter>,
    made: RefCell<HashMap<A, (Prepared, Vec<usize>)>>,
}

impl<A: Copy + Eq + Hash> CallCache<A> {
    pub(crate) fn new(texts: &Texts) -> Self {
        Self { lua: Interpreter::of_thread(texts), made: RefCell::default() }
    }

    /// Of a client that knows no token greater than `known`.
    pub(crate) fn run(
        &self,
        redis: &mut Redis,
        requested: A,
        known: i64,
        make: impl FnOnce() -> PlainCall,
    ) -> Reply {
        let call = self.made.borrow().get(&requested).cloned();
        let (call, known_at) = call.unwrap_or_else(|| {
            let call = make();
            let placeholder = KNOWN.to_string().into_bytes();
            let known_at = (1..).zip(&call.args).filter(|(_, arg)| **arg == placeholder);
            let call = (self.lua.prepare(&call), known_at.map(|(at, _)| at).collect());
            self.made.borrow_mut().insert(requested, call.clone());
            call
        });
        known_at.iter().for_each(|at| call.set_arg(*at, known));
        self.lua.run_prepared(redis, &call).in_parts()
    }
}

thread_local! {
    static LATEST: RefCell<Option<(u64, Rc<Calls>)>> = const { RefCell::new(None) };
}

/// Of one thread.
pub(super) struct Calls {
    made: CallCache<Requested>,
    kind: Kind,
    names: &'static LockNames,
    permits: Permits,
    newcomers_lease: i64,
    callers: Vec<ScriptCaller>,
}

impl Calls {
    /// This thread's, for the model of this number.
    pub(super) fn of_thread(model: u64, setup: &Setup, texts: &Texts) -> Rc<Self> {
        LATEST.with_borrow_mut(|latest| match latest {
            Some((id, calls)) if *id == model => Rc::clone(calls),
            _ => Rc::clone(&latest.insert((model, Rc::new(Self::new(setup, texts)))).1),
        })
    }

    fn new(setup: &Setup, texts: &Texts) -> Self {
        let numbers = 0..u8::try_from(SYMBOLS.len()).unwrap_or_default();
        Self {
            made: CallCache::new(texts),
            kind: setup.kind,
            names: setup.names,
            permits: setup.counts(),
            newcomers_lease: setup.longest_lease(),
            callers: numbers.map(|number| names::caller(setup.kind, setup.names, number)).collect(),
        }
    }

    /// Of a client that knows no greater token.
    pub(super) fn run(&self, redis: &mut Redis, requested: Requested, known: i64) -> Reply {
        if let Requested::By(owner, op) = requested
            && let Some(words) = op.plain(self.permits, &self.callers[usize::from(owner)])
        {
            return redis.call(&words);
        }
        // Where it does nothing, all that happens before the other script happens before both.
        if let Requested::By(owner, Op::Release { mode, holds: 0, in_line: false }) = requested
            && self.names.wire == Wire::Native
            && self.kind != Kind::Semaphore
        {
            let requested = Requested::ReleaseFree(owner, mode);
            let reply = self.made.run(redis, requested, known, || self.make(requested));
            if let [done, _] = reply.parts()
                && done.text() == Some("DONE")
            {
                return Reply::Array(vec![Reply::Bulk(b"FREED".into()), Reply::Bulk(NONCE.into())]);
            }
        }
        let reply = self.made.run(redis, requested, known, || self.make(requested));
        if self.names.wire == Wire::Native { native::alone(reply) } else { reply }
    }

    fn make(&self, requested: Requested) -> PlainCall {
        match requested {
            Requested::By(owner, op) => op.call(self.permits, &self.callers[usize::from(owner)]),
            Requested::ReleaseFree(owner, mode) => {
                self.callers[usize::from(owner)].release_free(mode)
            }
            Requested::TakeAway => self.callers[0].call(Step::TakeAway, NONCE),
            Requested::Inspect => self.callers[0].inspect(NONCE),
            Requested::Newcomer(number) => self.newcomer(number, self.newcomers_lease),
            Requested::Nonsense(which) => with_nonsense(self.newcomer(0, PLACEHOLDER_LEASE), which),
        }
    }

    fn newcomer(&self, number: u32, lease: i64) -> PlainCall {
        let (mode, holds, yields, waits, waited) = (Mode::Write, 1, true, false, 0);
        let ask = Op::Acquire { mode, holds, lease, yields, waits, waited };
        ask.call(self.permits, &names::newcomer(self.kind, self.names, number))
    }
}
