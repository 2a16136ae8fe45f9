//! The calls of a model, each made once by the client's own code and then run again and again.

use std::{cell::RefCell, rc::Rc};

use lock_core::{
    Mode,
    test_util::{PlainCall, ScriptCaller},
};

use super::{
    op::Op,
    setup::{LEASE_MS, Setup},
};
use crate::{
    model::{
        Op as Alone,
        calls::{CallCache, PLACEHOLDER_LEASE, with_nonsense},
        names::newcomer,
        native,
        op::NONCE,
    },
    redis::{Redis, Reply},
    texts::Texts,
};

/// The owner and the request of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Requested {
    By(Op),
    /// An owner that was never seen before requests both.
    Newcomer,
    /// The same with a lease of the second lock that is none.
    Nonsense(usize),
}

thread_local! {
    static LATEST: RefCell<Option<(u64, Rc<Calls>)>> = const { RefCell::new(None) };
}

/// Of one thread.
pub(super) struct Calls {
    setup: Setup,
    made: CallCache<Requested>,
}

impl Calls {
    /// This thread's, for the model of this number.
    pub(super) fn of_thread(model: u64, setup: &Setup, texts: &Texts) -> Rc<Self> {
        LATEST.with_borrow_mut(|latest| match latest {
            Some((id, calls)) if *id == model => Rc::clone(calls),
            _ => {
                let new = Rc::new(Self { setup: setup.clone(), made: CallCache::new(texts) });
                Rc::clone(&latest.insert((model, new)).1)
            }
        })
    }

    pub(super) fn run(&self, redis: &mut Redis, requested: Requested) -> Reply {
        let reply = self.made.run(redis, requested, 0, || self.make(requested));
        if self.setup.is_native() { native::in_parts(reply) } else { reply }
    }

    fn make(&self, requested: Requested) -> PlainCall {
        match requested {
            Requested::By(op) => op.call(&self.setup),
            Requested::Newcomer => self.newcomer(LEASE_MS),
            Requested::Nonsense(which) => with_nonsense(self.newcomer(PLACEHOLDER_LEASE), which),
        }
    }

    fn newcomer(&self, lease: i64) -> PlainCall {
        let (mode, holds, yields, waits, waited) = (Mode::Write, 1, true, false, 0);
        let alone = Alone::Acquire { mode, holds, lease, yields, waits, waited };
        let of = |at: usize| newcomer(self.setup.kinds[at], &self.setup.names[at], 0);
        let ask = |at: usize| alone.ask(self.setup.side(at).counts());
        let (callers, requests) = ([of(0), of(1)], [ask(0), ask(1)]);
        ScriptCaller::call_all(&[(&callers[0], requests[0]), (&callers[1], requests[1])], NONCE)
    }
}
