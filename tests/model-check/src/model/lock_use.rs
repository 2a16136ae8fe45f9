//! What a client may do next, and what it requests by it.

use lock_core::{Kind, Mode};

use super::{
    names::{self, SYMBOLS},
    op::Op,
    setup::{Setup, YIELDING_MS},
    state::{Client, Hold, Holds, ModelState},
};

/// What a program does with a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "as programs say it")]
pub enum LockUse {
    Acquire {
        mode: Mode,
        lease: i64,
    },
    /// The same by the plain commands for a free lock, the first of them.
    TryFree {
        mode: Mode,
        lease: i64,
    },
    /// The waiter tries so again.
    TryAgain,
    /// The other one of these commands.
    GoOn,
    /// The waiter looks again, or requests again for what it does not know.
    AskAgain,
    Enter {
        mode: Mode,
        lease: i64,
    },
    Drop(Mode),
    Renew {
        lease: i64,
    },
    Upgrade,
    Downgrade,
    /// Brings Redis down to what the program has, or leaves the line.
    Settle,
    /// Leaves the line, together with any others that do.
    Leave,
    /// The same as settling, for what the client had before.
    SettleStale,
}

/// All that a client may do.
pub(super) fn lock_uses(setup: &Setup, world: &ModelState, at: usize) -> Vec<LockUse> {
    let client = &world.clients[at];
    let mut lock_uses = Vec::new();
    if client.stale.is_some() {
        lock_uses.push(LockUse::SettleStale);
    }
    let Some(hold) = &client.hold else {
        fresh(setup, world, at, &mut lock_uses);
        return lock_uses;
    };
    if client.gives_up_late() {
        return lock_uses;
    }
    if !hold.is_settled() {
        lock_uses.push(LockUse::Settle);
    }
    let leaves = setup.kind.is_fair() || setup.is_native();
    if leaves && hold.guards.none() && hold.in_line.is_some() && !hold.doubt {
        lock_uses.push(LockUse::Leave);
    }
    if hold.leaving || hold.requests() {
        if hold.is_settled() || (client.stale.is_none() && (hold.leaving || !hold.stored.none())) {
            fresh(setup, world, at, &mut lock_uses);
        }
        if hold.requests() {
            lock_uses.push(LockUse::AskAgain);
            if client.may_try(setup) {
                lock_uses.push(LockUse::TryAgain);
            }
            if hold.tried.is_some() {
                lock_uses.push(LockUse::GoOn);
            }
        }
        return lock_uses;
    }
    if !hold.doubt {
        held(setup, hold, &mut lock_uses);
    }
    lock_uses
}

fn held(setup: &Setup, hold: &Hold, lock_uses: &mut Vec<LockUse>) {
    let Holds { reads, writes } = hold.guards;
    let reenters = !matches!(setup.kind, Kind::Semaphore | Kind::NonReentrant);
    for &lease in setup.leases {
        lock_uses.push(LockUse::Renew { lease });
        for &mode in setup.modes {
            let may = mode == Mode::Read || writes > 0;
            if reenters && may && hold.guards.of(mode) < setup.holds {
                lock_uses.push(LockUse::Enter { mode, lease });
            }
        }
    }
    for &mode in setup.modes {
        if hold.guards.of(mode) > 0 {
            lock_uses.push(LockUse::Drop(mode));
        }
    }
    if setup.converts && reads > 0 {
        lock_uses.push(LockUse::Upgrade);
    }
    if setup.converts && writes > 0 {
        lock_uses.push(LockUse::Downgrade);
    }
}

fn fresh(setup: &Setup, world: &ModelState, at: usize, lock_uses: &mut Vec<LockUse>) {
    if new_owner(setup, world, at).is_none() {
        return;
    }
    for &mode in setup.modes {
        lock_uses.extend(setup.leases.iter().map(|&lease| LockUse::Acquire { mode, lease }));
        if world.clients[at].may_try(setup) {
            lock_uses.extend(setup.leases.iter().map(|&lease| LockUse::TryFree { mode, lease }));
        }
    }
}

/// An owner of this client's that nothing in Redis mentions, instead of a fresh one.
fn new_owner(setup: &Setup, world: &ModelState, at: usize) -> Option<u8> {
    let client = &world.clients[at];
    let mut own = owners(world.clients.len(), at);
    if !setup.fresh_owners {
        return own.next();
    }
    let known = |number: u8| {
        let holds = [&client.hold, &client.stale].into_iter().flatten();
        let mut known = holds.map(|hold| hold.owner).chain(client.late.iter().map(|late| late.0));
        known.any(|owner| owner == number) || stands(world, SYMBOLS[usize::from(number)])
    };
    own.into_iter().find(|number| !known(*number))
}

/// The owners of a client.
pub(crate) fn owners(clients: usize, at: usize) -> std::ops::Range<u8> {
    let each = SYMBOLS.len() / clients;
    let number = |at: usize| u8::try_from(at).unwrap_or(u8::MAX);
    number(at * each)..number((at + 1) * each)
}

fn stands(world: &ModelState, symbol: u8) -> bool {
    world.redis.entries().any(|(key, entry)| key.contains(&symbol) || entry.value.names(symbol))
}

/// Whose command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Hold,
    Stale,
}

/// What a lock_use requests of Redis; what is known before the answer is written down.
pub(super) fn begin(
    setup: &Setup,
    world: &mut ModelState,
    at: usize,
    lock_use: LockUse,
) -> Option<(Whose, Op)> {
    let now = world.now();
    if let LockUse::Acquire { mode, lease } | LockUse::TryFree { mode, lease } = lock_use {
        let owner = new_owner(setup, world, at)?;
        let client = &mut world.clients[at];
        client.put_aside();
        client.hold = Some(Hold::new(owner, mode, lease, now));
        let hold = client.hold.as_mut()?;
        let tries = matches!(lock_use, LockUse::TryFree { .. });
        let op = if tries { try_free(setup, hold) } else { ask(setup, hold, now) };
        return Some((Whose::Hold, op));
    }
    let client = &mut world.clients[at];
    if lock_use == LockUse::SettleStale {
        return Some((Whose::Stale, settle(client.stale.as_mut()?)?));
    }
    let hold = client.hold.as_mut()?;
    let op = match lock_use {
        LockUse::AskAgain => ask(setup, hold, now),
        LockUse::TryAgain => try_free(setup, hold),
        LockUse::GoOn if setup.draws_first => {
            Op::TryFree { mode: hold.requested.0, lease: hold.requested.1 }
        }
        LockUse::GoOn if hold.tried?.token.is_some() => Op::ReadValue,
        LockUse::GoOn => Op::DrawToken,
        LockUse::Settle => {
            // An owner that requests nothing more has given up.
            hold.leaving |= hold.guards.none();
            hold.tried = None;
            settle(hold)?
        }
        LockUse::Leave => {
            hold.leaving = true;
            hold.tried = None;
            Op::Leave { mode: hold.in_line? }
        }
        LockUse::Enter { mode, lease } => {
            let holds = hold.guards.of(mode) + 1;
            let stored = hold.stored.of_mut(mode);
            *stored = holds.max(*stored);
            Op::Acquire { mode, holds, lease, yields: false, waits: false, waited: 0 }
        }
        LockUse::Drop(mode) => {
            *hold.guards.of_mut(mode) -= 1;
            hold.leaving = hold.guards.none();
            if hold.guards.reads == 0 {
                hold.reads_until = now;
            }
            if hold.guards.writes == 0 {
                hold.until = hold.reads_until;
            }
            settle(hold)?
        }
        LockUse::Renew { lease } => {
            let mode = if hold.guards.writes > 0 { Mode::Write } else { Mode::Read };
            Op::Renew { mode, lease }
        }
        LockUse::Upgrade => {
            let Holds { reads, writes } = hold.guards;
            let after = Holds { reads: reads - 1, writes: writes + 1 };
            Op::Upgrade { after: hold.change(after), lease: hold.requested.1 }
        }
        LockUse::Downgrade => {
            hold.guards.reads += 1;
            hold.guards.writes -= 1;
            let after = hold.guards;
            Op::Downgrade { after: hold.change(after), lease: hold.requested.1 }
        }
        LockUse::Acquire { .. } | LockUse::TryFree { .. } | LockUse::SettleStale => return None,
    };
    Some((Whose::Hold, op))
}

fn ask(setup: &Setup, hold: &mut Hold, now: i64) -> Op {
    let (mode, lease) = hold.requested;
    *hold.stored.of_mut(mode) = 1;
    hold.tried = None;
    hold.in_line = setup.waits.then_some(mode);
    let yields = hold.yields_until.is_none_or(|until| now < until);
    Op::Acquire { mode, holds: 1, lease, yields, waits: setup.waits, waited: now - hold.since }
}

fn try_free(setup: &Setup, hold: &mut Hold) -> Op {
    let (mode, lease) = hold.requested;
    *hold.stored.of_mut(mode) = 1;
    (hold.tried, hold.taken) = (None, false);
    if setup.draws_first { Op::DrawToken } else { Op::TryFree { mode, lease } }
}

fn settle(hold: &mut Hold) -> Option<Op> {
    if hold.doubt {
        if hold.guards.reads > 0 {
            return Some(Op::Downgrade { after: hold.guards, lease: hold.requested.1 });
        }
        hold.doubt = false;
    }
    [Mode::Read, Mode::Write].into_iter().find_map(|mode| {
        let (holds, in_line) = (hold.guards.of(mode), hold.in_line == Some(mode));
        let in_line = in_line && hold.guards.none();
        let step = Op::Release { mode, holds, in_line };
        (hold.stored.of(mode) > holds || in_line).then_some(step)
    })
}

impl Hold {
    fn change(&mut self, after: Holds) -> Holds {
        self.doubt = true;
        self.stored.reads = self.stored.reads.max(after.reads);
        self.stored.writes = self.stored.writes.max(after.writes);
        after
    }

    /// It has been reported that another one is next.
    pub(super) fn yielded(&mut self, now: i64) {
        self.yields_until.get_or_insert(now + YIELDING_MS);
    }
}

impl Client {
    /// Whether something that takes from a hold that lives on is under way. A client kills the old
    /// connection before it uses another one: either it arrives now or it never will.
    fn gives_up_late(&self) -> bool {
        let (Some((owner, op)), Some(hold)) = (&self.late, &self.hold) else { return false };
        let takes = matches!(
            op,
            Op::Release { .. } | Op::Leave { .. } | Op::Upgrade { .. } | Op::Downgrade { .. }
        );
        takes && *owner == hold.owner && !hold.guards.none()
    }

    /// Whether it may count on the counter of tokens without a script that looks at the clock.
    fn may_try(&self, setup: &Setup) -> bool {
        setup.is_native() && setup.has_tokens() && self.raised
    }

    /// What was before is settled later, if there is something to settle.
    fn put_aside(&mut self) {
        if let Some(mut hold) = self.hold.take().filter(|hold| !hold.is_settled()) {
            hold.lose();
            self.stale = Some(hold);
        }
    }
}

/// The name of an owner, as Redis knows it.
pub(super) fn name(setup: &Setup, owner: u8) -> Vec<u8> {
    names::owner(setup.kind, setup.names, owner)
}
