//! Two locks that clients ask for one by one, or at once and all or nothing.

mod calls;
mod everywhere;
mod lock_use;
mod op;
mod received;
mod rules;
mod setup;
mod state;

use std::rc::Rc;

use stateright::{Model, Property};

pub use lock_use::LockUse;
pub use op::{Ask, Op};
pub use setup::{Setup, Trouble};
pub use state::{Client, Hold, SeveralState};

use crate::{
    model::{Setup as Side, Wrong, replies},
    redis::Reply,
    search::{Search, unbroken},
    texts::Texts,
};
use calls::{Calls, Requested};
use rules::Step;
use setup::TICK_MS;

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Time passes.
    Tick,
    /// A client does something, and hears the answer.
    Do(usize, LockUse),
    /// A client requests both at once, and hears no more of it.
    Send(usize, LockUse),
    /// What was sent so arrives.
    Arrive(usize),
    /// What was sent so never arrives.
    Vanish(usize),
    /// Something comes over the second lock.
    Trouble,
}

/// Two locks, their clients and the texts that are run.
#[derive(Debug, Clone)]
pub struct Several {
    setup: Setup,
    sides: [Side; 2],
    texts: Texts,
    pub(crate) search: Search,
}

impl Several {
    /// Within these bounds.
    #[must_use]
    pub fn new(setup: Setup, texts: Texts) -> Self {
        let sides = [setup.side(0), setup.side(1)];
        Self { setup, sides, texts, search: Search::new() }
    }

    fn calls(&self) -> Rc<Calls> {
        Calls::of_thread(self.search.id, &self.setup, &self.texts)
    }

    /// Runs a step, and says what came of it; what is wrong with it stays in the world.
    fn run(&self, world: &mut SeveralState, op: Op) -> Reply {
        let calls = self.calls();
        let mut redis = world.redis.clone();
        let reply = calls.run(&mut redis, Requested::By(op));
        let reported = redis.take_told();
        let step = Step {
            setup: &self.setup,
            sides: &self.sides,
            calls: &calls,
            op,
            world,
            redis: &redis,
            reply: &reply,
            reported: &reported,
        };
        let wrong = step.judge().err();
        (world.redis, world.wrong) = (redis, wrong);
        reply
    }

    fn take(&self, world: &mut SeveralState, action: Action) -> Option<()> {
        match action {
            Action::Tick => world.redis.advance(TICK_MS),
            Action::Do(at, lock_use) => {
                let op = lock_use::begin(&self.setup, world, at, lock_use)?;
                let reply = self.run(world, op);
                world.operations += 1;
                if world.wrong.is_none() {
                    world.heard_tokens(op, &reply);
                    let now = world.now();
                    received::hear(&self.setup, &mut world.clients[at], op, &reply, now);
                }
            }
            Action::Send(at, lock_use) => {
                let Op::All(requests) = lock_use::begin(&self.setup, world, at, lock_use)? else {
                    return None;
                };
                world.clients[at].late = Some(requests);
                world.operations += 1;
            }
            Action::Arrive(at) => {
                let requests = world.clients[at].late.take()?;
                self.run(world, Op::All(requests));
            }
            Action::Vanish(at) => world.clients[at].late = None,
            Action::Trouble => self.trouble(world),
        }
        Some(())
    }

    fn trouble(&self, world: &mut SeveralState) {
        world.troubled = true;
        let (names, redis) = (&self.setup.names[1], &mut world.redis);
        let in_the_way = match self.setup.trouble {
            Trouble::Denied => return redis.deny(names.token),
            Trouble::ForeignToken => names.token,
            _ => names.lock,
        };
        redis.forget(in_the_way);
        redis.call(&[b"rpush".into(), in_the_way.into(), b"x".into()]);
    }

    /// Whether only holders of a lock have a value under its name.
    fn may_be_troubled(&self, world: &SeveralState) -> bool {
        let is_free = world.redis.entry(self.setup.names[1].lock).is_none();
        match self.setup.trouble {
            _ if world.troubled => false,
            Trouble::None => false,
            Trouble::Foreign => is_free,
            Trouble::ForeignToken | Trouble::Denied => true,
        }
    }
}

impl SeveralState {
    fn heard_tokens(&mut self, op: Op, reply: &Reply) {
        let (parts, highest) = (reply.parts(), &mut self.highest);
        let mut hear = |lock: usize, at: usize| {
            let token = parts.get(at).and_then(replies::token).unwrap_or_default();
            highest[lock] = highest[lock].max(token);
        };
        match (op, parts.first().and_then(Reply::text)) {
            (Op::All(_), Some("GRANTED")) => [0, 1].into_iter().for_each(|at| hear(at, at + 2)),
            (Op::One(lock, _), Some("GRANTED")) => hear(lock, 2),
            _ => {}
        }
    }
}

impl Model for Several {
    type State = SeveralState;
    type Action = Action;

    fn init_states(&self) -> Vec<SeveralState> {
        vec![SeveralState::new(self.setup.clients)]
    }

    fn actions(&self, world: &SeveralState, actions: &mut Vec<Action>) {
        if self.search.is_over() {
            return;
        }
        let is_over = world.operations >= self.setup.operations;
        let under_way = world.clients.iter().filter(|client| client.late.is_some()).count();
        for (at, client) in world.clients.iter().enumerate() {
            if client.late.is_some() {
                actions.extend([Action::Arrive(at), Action::Vanish(at)]);
            }
            if is_over {
                continue;
            }
            let lock_uses = lock_use::lock_uses(&self.setup, world, at);
            if client.late.is_none() && under_way < usize::from(self.setup.late) {
                // What comes late for one lock is for the models of one lock.
                let all = lock_uses.iter().filter(|lock_use| matches!(lock_use, LockUse::All(_)));
                actions.extend(all.map(|&lock_use| Action::Send(at, lock_use)));
            }
            actions.extend(lock_uses.into_iter().map(|lock_use| Action::Do(at, lock_use)));
        }
        if is_over && under_way == 0 {
            return;
        }
        actions.push(Action::Tick);
        if !is_over && self.may_be_troubled(world) {
            actions.push(Action::Trouble);
        }
    }

    fn next_state(&self, world: &SeveralState, action: Action) -> Option<SeveralState> {
        let mut next = world.clone();
        self.take(&mut next, action)?;
        next.settle_time();
        if next.wrong.is_none() {
            next.wrong = everywhere::judge(&self.setup, &self.sides, &next);
        }
        self.search.keeps(next.wrong.is_none());
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut rules = unbroken![SeveralState:
            Exclusion CutShort Endless Reply Token FalseGrant FalseLoss FalseRefusal FalseTime
            FalseRelease NotTold Overtaken StillWaits Permits Half AsAlone
        ];
        rules.push(Property::always(
            Wrong::Arguments.rule(),
            |locks: &Self, world: &SeveralState| {
                locks.search.keeps(everywhere::is_picky(world, &locks.calls()))
            },
        ));
        rules.push(Property::always(
            Wrong::NotFreed.rule(),
            |locks: &Self, world: &SeveralState| {
                let (calls, is_broken) = (locks.calls(), world.wrong.is_some());
                let is_freed = || everywhere::is_freed(&locks.setup, &locks.sides, world, &calls);
                locks.search.keeps(is_broken || is_freed())
            },
        ));
        rules
    }
}
