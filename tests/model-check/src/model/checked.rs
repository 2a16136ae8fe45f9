//! The model as the checker sees it: what may happen next, and what must be so.

use stateright::{Model, Property};

use super::{
    Action, Locks, ModelState, Wrong, contents::LockContents, everywhere, inspected, lock_use,
};
use crate::search::unbroken;

impl Model for Locks {
    type State = ModelState;
    type Action = Action;

    fn init_states(&self) -> Vec<ModelState> {
        vec![ModelState::new(&self.setup)]
    }

    fn actions(&self, world: &ModelState, actions: &mut Vec<Action>) {
        if self.search.is_over() {
            return;
        }
        let is_over = world.operations >= self.setup.operations;
        let under_way = world.clients.iter().filter(|client| client.late.is_some()).count();
        for at in 0..world.clients.len() {
            let client = &world.clients[at];
            if client.late.is_some() {
                actions.extend([Action::Arrive(at), Action::Vanish(at)]);
            }
            if is_over {
                continue;
            }
            let lock_uses = lock_use::lock_uses(&self.setup, world, at);
            if client.late.is_none() && under_way < usize::from(self.setup.late) {
                // What follows a plain command is received, or it makes no difference.
                let sent =
                    lock_uses.iter().filter(|lock_use| **lock_use != lock_use::LockUse::GoOn);
                actions.extend(sent.map(|&lock_use| Action::Send(at, lock_use)));
            }
            actions.extend(lock_uses.into_iter().map(|lock_use| Action::Do(at, lock_use)));
        }
        if is_over && under_way == 0 {
            return;
        }
        actions.extend(self.setup.ticks.iter().map(|&ms| Action::Tick(ms)));
        if is_over {
            return;
        }
        if self.setup.force {
            actions.push(Action::TakeAway);
        }
        if self.setup.fills {
            actions.push(Action::Fill(!world.redis.is_full()));
        }
        if self.setup.evicts && !world.evicted {
            let may_go = |key: &[u8]| !self.setup.tells_its_waiters(key);
            let keys = (0..).zip(world.redis.entries());
            actions
                .extend(keys.filter(|(_, (key, _))| may_go(key)).map(|(at, _)| Action::Evict(at)));
        }
        if self.setup.forgets_tokens && world.redis.entry(self.setup.names.token).is_some() {
            actions.push(Action::ForgetToken);
            if self.setup.is_native() {
                actions.push(Action::FailOver);
            }
        }
    }

    fn next_state(&self, world: &ModelState, action: Action) -> Option<ModelState> {
        let mut next = world.clone();
        self.take(&mut next, action)?;
        next.settle_time();
        if next.wrong.is_none() {
            let contents = LockContents::of(&next.redis, self.setup.kind, self.setup.names);
            next.wrong = everywhere::judge(&self.setup, &next, &contents);
        }
        self.search.keeps(next.wrong.is_none());
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut rules = unbroken![ModelState:
            Exclusion CutShort Endless Reply Token FalseGrant FalseRenewal FalseLoss FalseRefusal FalseTime
            FalseRelease NotTold Overtaken StillWaits Permits Memory
        ];
        // These run a script: once for each state, not for each step that leads there.
        rules.push(Property::always(
            Wrong::Arguments.rule(),
            |locks: &Self, world: &ModelState| {
                locks.search.keeps(everywhere::is_picky(world, &locks.calls()))
            },
        ));
        rules.push(Property::always(Wrong::NotFreed.rule(), |locks: &Self, world: &ModelState| {
            let calls = locks.calls();
            let is_freed = || everywhere::is_freed(&locks.setup, world, &calls);
            locks.search.keeps(world.wrong.is_some() || is_freed())
        }));
        rules.push(Property::always(
            Wrong::Inspected.rule(),
            |locks: &Self, world: &ModelState| {
                let is_true = || inspected::is_true(&locks.setup, world, &locks.calls());
                locks.search.keeps(world.wrong.is_some() || is_true())
            },
        ));
        rules
    }
}
