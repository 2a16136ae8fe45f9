//! Clients that do whatever clients may do, on scripts that must keep them apart.

mod acquired;
pub(crate) mod calls;
mod checked;
pub(crate) mod contents;
pub(crate) mod everywhere;
pub(crate) mod fingerprint;
mod inspected;
pub(crate) mod lock_use;
pub(crate) mod names;
pub(crate) mod native;
pub(crate) mod op;
mod received;
pub(crate) mod replies;
mod reported;
pub(crate) mod rules;
pub(crate) mod setup;
pub(crate) mod state;
mod wrong;

use std::rc::Rc;

pub use lock_use::LockUse;
pub use op::Op;
pub use setup::Setup;
pub use state::{Client, Hold, Holds, ModelState, Tried};
pub use wrong::Wrong;

use crate::{redis::Reply, search::Search, texts::Texts};
use calls::{Calls, Requested};
use contents::LockContents;
use lock_use::Whose;
use rules::Step;

/// A longer wait than this makes no further difference.
pub(crate) const LONG_WAIT_MS: i64 = 2_000;

/// No failover is over within a microsecond.
const FAILOVER_MS: i64 = 1_000;
/// The same of an operator that deletes a counter.
const LOST_MS: i64 = 1;

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// So many milliseconds pass.
    Tick(i64),
    /// A client does something, and hears the answer.
    Do(usize, LockUse),
    /// A client sends something, and hears no more of it.
    Send(usize, LockUse),
    /// What was sent so arrives.
    Arrive(usize),
    /// What was sent so never arrives.
    Vanish(usize),
    /// An operator takes the lock away.
    TakeAway,
    /// Redis reaches its memory limit, or leaves it.
    Fill(bool),
    /// Redis evicts the key that has this place among all.
    Evict(usize),
    /// Redis loses the last token.
    ForgetToken,
    /// Redis is replaced by one that has an old token.
    FailOver,
}

/// A lock, its clients and the texts that are run.
#[derive(Debug, Clone)]
pub struct Locks {
    setup: Setup,
    texts: Texts,
    pub(crate) search: Search,
}

impl Locks {
    /// Within these bounds.
    #[must_use]
    pub fn new(setup: Setup, texts: Texts) -> Self {
        Self { setup, texts, search: Search::new() }
    }

    fn calls(&self) -> Rc<Calls> {
        Calls::of_thread(self.search.id, &self.setup, &self.texts)
    }

    /// Runs a step, and says what came of it; what is wrong with it stays in the world.
    fn run(&self, world: &mut ModelState, owner: u8, op: Op, known: i64) -> Reply {
        let kind = self.setup.kind;
        let before = LockContents::of(&world.redis, kind, self.setup.names);
        let untouched = world.redis.is_full().then(|| world.redis.clone());
        let reply = self.calls().run(&mut world.redis, Requested::By(owner, op), known);
        if let Some(untouched) = untouched.filter(|_| is_out_of_memory(&reply)) {
            let is_kept = op.needs_memory() && world.redis == untouched;
            world.wrong = (!is_kept).then_some(Wrong::Memory);
            return reply;
        }
        let reported = world.redis.take_told();
        let after = LockContents::of(&world.redis, kind, self.setup.names);
        let step = Step {
            setup: &self.setup,
            owner: &lock_use::name(&self.setup, owner),
            op,
            now: world.now(),
            before: &before,
            after: &after,
            reply: &reply,
            reported: &reported,
            highest: self.setup.least_token(known, world.highest),
        };
        world.wrong = if world.evicted { step.judge_after_eviction() } else { step.judge() }.err();
        reply
    }

    fn take(&self, world: &mut ModelState, action: Action) -> Option<()> {
        match action {
            Action::Tick(ms) => world.redis.advance(ms),
            Action::Do(at, lock_use) => {
                let (whose, op) = lock_use::begin(&self.setup, world, at, lock_use)?;
                let owner = world.owner(at, whose)?;
                let known = world.clients[at].known;
                let reply = self.run(world, owner, op, known);
                world.operations += 1;
                // A client that is refused for want of memory does not know what stands there.
                if world.wrong.is_none() && !is_out_of_memory(&reply) {
                    let (now, client) = (world.now(), &mut world.clients[at]);
                    let token = received::hear(&self.setup, client, whose, op, &reply, now);
                    let token = token.unwrap_or(i64::MAX);
                    // The token of a free lock, which no reply of a script has.
                    if matches!(op, Op::TryFree { .. } | Op::DrawToken | Op::ReadValue)
                        && token <= self.setup.least_token(known, world.highest)
                    {
                        world.wrong = Some(Wrong::Token);
                    }
                    if token < i64::MAX {
                        world.highest = world.highest.max(token);
                    }
                }
            }
            Action::Send(at, lock_use) => {
                let (whose, op) = lock_use::begin(&self.setup, world, at, lock_use)?;
                world.clients[at].late = Some((world.owner(at, whose)?, op));
                world.operations += 1;
            }
            Action::Arrive(at) => {
                let (owner, op) = world.clients[at].late.take()?;
                // The reply is lost, so it makes no difference which tokens the client knew.
                self.run(world, owner, op, 0);
            }
            Action::Vanish(at) => world.clients[at].late = None,
            Action::TakeAway => self.take_away(world),
            Action::Fill(full) => {
                world.redis.fill(full);
                world.operations += 1;
            }
            Action::Evict(at) => {
                let key = world.redis.entries().nth(at)?.0.to_vec();
                world.redis.forget(&key);
                world.evicted = true;
                world.redis.advance(LOST_MS);
                world.operations += 1;
            }
            Action::ForgetToken => {
                world.redis.forget(self.setup.names.token);
                world.redis.advance(if self.setup.is_native() { LOST_MS } else { FAILOVER_MS });
            }
            Action::FailOver => {
                world.fail_over(&self.setup);
                world.redis.advance(FAILOVER_MS);
            }
        }
        Some(())
    }

    fn take_away(&self, world: &mut ModelState) {
        let kind = self.setup.kind;
        let before = LockContents::of(&world.redis, kind, self.setup.names);
        let reply = self.calls().run(&mut world.redis, Requested::TakeAway, world.highest);
        let reported = world.redis.take_told();
        let after = LockContents::of(&world.redis, kind, self.setup.names);
        let was_held = before.held.iter().any(contents::Held::lives);
        let parts = reply.parts();
        let status = parts.first().and_then(Reply::text);
        let token = parts.get(2).and_then(replies::token);
        world.wrong = match (status, token) {
            (Some("FREED" | "GONE"), Some(token)) => {
                if (status == Some("FREED")) != was_held || !after.held.is_empty() {
                    Some(Wrong::FalseRelease)
                } else if self.setup.has_tokens() && token <= world.highest {
                    Some(Wrong::Token)
                } else if !reported::all_told(&self.setup, &before, &after, &reported) {
                    Some(Wrong::NotTold)
                } else {
                    world.highest = world.highest.max(token);
                    None
                }
            }
            _ => Some(Wrong::Reply),
        };
        world.operations += 1;
        for hold in world.clients.iter_mut().filter_map(|client| client.hold.as_mut()) {
            hold.taken = !hold.guards.none();
        }
    }
}

fn is_out_of_memory(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if text.contains("OOM"))
}

impl ModelState {
    fn owner(&self, at: usize, whose: Whose) -> Option<u8> {
        let client = &self.clients[at];
        let hold = if whose == Whose::Hold { &client.hold } else { &client.stale };
        hold.as_ref().map(|hold| hold.owner)
    }

    /// What time alone does to beliefs.
    fn settle_time(&mut self) {
        let now = self.now();
        for hold in self.clients.iter_mut().filter_map(|client| client.hold.as_mut()) {
            if !hold.guards.none() && hold.until <= now {
                hold.lose();
            }
            hold.since = hold.since.max(now - LONG_WAIT_MS);
        }
    }
}
