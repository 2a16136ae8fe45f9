//! What one step may do to each of the locks, and say.

use super::{
    calls::{Calls, Requested},
    op::{Ask, Op},
    setup::{Setup, Trouble},
    state::SeveralState,
};
use crate::{
    model::{
        Op as Alone, Setup as Side, Wrong,
        contents::LockContents,
        names::{LockNames, owner},
        rules::{self, broken},
    },
    redis::{Redis, Reply},
};

/// What stands of each lock.
pub(super) fn contents_of_both(setup: &Setup, redis: &Redis) -> [LockContents; 2] {
    [0, 1].map(|lock| LockContents::of(redis, setup.kinds[lock], &setup.names[lock]))
}

/// A step that was taken.
pub(super) struct Step<'a> {
    pub(super) setup: &'a Setup,
    pub(super) sides: &'a [Side; 2],
    pub(super) calls: &'a Calls,
    pub(super) op: Op,
    /// As it was before.
    pub(super) world: &'a SeveralState,
    pub(super) redis: &'a Redis,
    pub(super) reply: &'a Reply,
    /// What was published, in order: channel and message.
    pub(super) reported: &'a [(Vec<u8>, Vec<u8>)],
}

impl Step<'_> {
    /// The first rule that is broken.
    pub(super) fn judge(&self) -> Result<(), Wrong> {
        match self.op {
            Op::All(requests) => {
                self.judge_all(requests)?;
                self.as_each_alone(requests)
            }
            Op::One(lock, ask) => self.judge_one(lock, ask.owner, ask.alone()),
            Op::Release { at, owner, mode, holds, in_line } => {
                self.judge_one(at, owner, Alone::Release { mode, holds, in_line })
            }
        }
    }

    /// A step on one lock, which is none of the other's business.
    fn judge_one(&self, lock: usize, owner: u8, op: Alone) -> Result<(), Wrong> {
        let [before, after] =
            [&self.world.redis, self.redis].map(|at| contents_of_both(self.setup, at));
        // On the native wire the token is that of both.
        let (was, is) = (&before[1 - lock], &after[1 - lock]);
        broken(Wrong::CutShort, (&was.held, &was.waiters) != (&is.held, &is.waiters))?;
        if self.is_excused(lock, self.reply) {
            return broken(Wrong::Half, before[lock].held != after[lock].held);
        }
        self.on(lock, owner, op, self.reply, |step| step.judge())
    }

    fn judge_all(&self, requests: [Ask; 2]) -> Result<(), Wrong> {
        let parts = self.reply.parts();
        if let Reply::Error(_) = self.reply {
            broken(Wrong::Reply, !self.is_excused(1, self.reply))?;
            return (0..2).try_for_each(|lock| self.is_taken_back(lock, requests[lock]));
        }
        match (parts.first().and_then(Reply::text), parts) {
            (Some("GRANTED"), [status, nonce, tokens @ ..]) if tokens.len() == 2 => (0..2)
                .try_for_each(|lock| {
                    let each = [status.clone(), nonce.clone(), tokens[lock].clone()];
                    self.says(lock, requests[lock], &Reply::Array(each.to_vec()))
                }),
            (Some("REFUSED"), [_, _, Reply::Int(at @ 1..=2), own @ ..]) => {
                let (at, own) = (usize::from(*at == 2), Reply::Array(own.to_vec()));
                if self.is_excused(at, &own) {
                    self.is_taken_back(at, requests[at])?;
                } else {
                    self.says(at, requests[at], &own)?;
                }
                self.is_taken_back(1 - at, requests[1 - at])
            }
            _ => Err(Wrong::Reply),
        }
    }

    /// Whether that is said since something came over the second lock.
    fn is_excused(&self, lock: usize, reply: &Reply) -> bool {
        let is = |trouble| lock == 1 && self.world.troubled && self.setup.trouble == trouble;
        match reply {
            Reply::Error(_) => is(Trouble::Denied),
            _ => {
                let status = reply.parts().first().and_then(Reply::text);
                let in_the_way = is(Trouble::Foreign) || is(Trouble::ForeignToken);
                status == Some("WRONG_KIND") && in_the_way
            }
        }
    }

    /// What its own script would say is judged as if the lock had been requested alone.
    fn says(&self, lock: usize, ask: Ask, reply: &Reply) -> Result<(), Wrong> {
        self.on(lock, ask.owner, ask.alone(), reply, |step| step.judge())
    }

    /// Nothing of what was requested is there, and all that was there before still is.
    fn is_taken_back(&self, lock: usize, ask: Ask) -> Result<(), Wrong> {
        self.on(lock, ask.owner, ask.undone(), self.reply, |step| step.is_taken_back())
    }

    fn on(
        &self,
        lock: usize,
        number: u8,
        op: Alone,
        reply: &Reply,
        judge: impl Fn(&rules::Step<'_>) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        let of = |redis| LockContents::of(redis, self.setup.kinds[lock], &self.setup.names[lock]);
        let (before, after) = (of(&self.world.redis), of(self.redis));
        judge(&rules::Step {
            setup: &self.sides[lock],
            owner: &owner(self.setup.kinds[lock], &self.setup.names[lock], number),
            op,
            now: self.world.now(),
            before: &before,
            after: &after,
            reply,
            reported: self.reported,
            highest: self.world.highest[lock],
        })
    }

    /// What is granted is what each script would have granted alone. Where one refuses or fails, its
    /// words count; what was granted before it is released again as its client would, and so is what
    /// a call before was granted of those after it.
    fn as_each_alone(&self, requests: [Ask; 2]) -> Result<(), Wrong> {
        let mut alone = self.world.redis.clone();
        let (mut said, mut refusal) = (Vec::new(), None);
        for (lock, ask) in requests.into_iter().enumerate() {
            let reply = self.calls.run(&mut alone, Requested::By(Op::One(lock, ask)));
            if reply.parts().first().and_then(Reply::text) != Some("GRANTED") {
                refusal = Some((lock, reply));
                break;
            }
            said.extend(reply.parts().get(2).cloned());
        }
        let mut is_said = self.reply.parts().get(2..) == Some(&said);
        if let Some((at, own)) = refusal {
            let failed = matches!(own, Reply::Error(_));
            let wrong_kind = own.parts().first().and_then(Reply::text) == Some("WRONG_KIND");
            for lock in [1, 0].into_iter().filter(|lock| failed || wrong_kind || *lock != at) {
                self.calls.run(&mut alone, Requested::By(requests[lock].release(lock)));
            }
            let parts = self.reply.parts();
            let counted = parts.get(2).and_then(Reply::int) == i64::try_from(at + 1).ok();
            is_said = if failed {
                own == *self.reply
            } else {
                counted && parts.get(3..) == Some(own.parts())
            };
        }
        let reported = alone.take_told();
        let told_of = |reported: &[(Vec<u8>, Vec<u8>)], names: &LockNames| -> Vec<_> {
            reported.iter().filter(|reported| names.has(&reported.0)).cloned().collect()
        };
        let is_told = self
            .setup
            .names
            .iter()
            .all(|names| told_of(&reported, names) == told_of(self.reported, names));
        broken(Wrong::AsAlone, !(is_said && is_told && self.is_alike(&alone)))
    }

    /// Whether Redis has the same, except for places that are over: a fast path leaves them in the line
    /// until they are the first, the whole script removes them.
    fn is_alike(&self, alone: &Redis) -> bool {
        let names = &self.setup.names;
        let beside = |redis: &Redis| -> Vec<_> {
            let entries =
                redis.entries().filter(|(key, _)| names.iter().all(|one| *key != one.lock));
            entries.map(|(key, entry)| (key.to_vec(), entry.clone())).collect()
        };
        let living = |redis: &Redis| {
            contents_of_both(self.setup, redis).map(|mut contents| {
                contents.waiters.retain(|one| one.left > 0);
                contents.waiters.iter_mut().for_each(|one| one.since = 0);
                contents
            })
        };
        alone == self.redis
            || self.setup.is_native()
                && beside(alone) == beside(self.redis)
                && living(alone) == living(self.redis)
    }
}
