//! A line in order of arrival.

use lock_core::Mode;

use super::{Ask, Lock, Says, Waiter};

impl Lock {
    fn stand(&mut self, owner: usize, ask: Ask) {
        let Some(life) = ask.place else { return };
        let until = self.now + life;
        match self.waiters.iter_mut().find(|waiter| waiter.owner == owner) {
            Some(waiter) => waiter.until = until,
            None => self.waiters.push(Waiter { owner, mode: ask.mode, since: 0, until }),
        }
    }

    /// The fair lock: only the head of the line may enter. The dead at the head are passed by; one
    /// that comes back before it was missed keeps its place.
    pub(super) fn refuse_out_of_turn(
        &mut self,
        owner: usize,
        ask: Ask,
        shut_out: Option<u64>,
        first: bool,
    ) -> Option<Says> {
        if !first {
            return None;
        }
        self.pass_the_dead_by(Some(owner));
        let out_of_turn = self.waiters.first().is_some_and(|head| head.owner != owner);
        if shut_out.is_none() && !out_of_turn {
            return None;
        }
        self.stand(owner, ask);
        let until = shut_out.or(self.waiters.first().map(|head| head.until))?;
        let in_line = self.waiters.iter().any(|waiter| waiter.owner == owner);
        Some(Says::Busy { remaining: Some(until - self.now), in_line })
    }

    pub(super) fn pass_the_dead_by(&mut self, caller: Option<usize>) {
        let dead = |waiter: &&Waiter| waiter.until <= self.now && Some(waiter.owner) != caller;
        let dead = self.waiters.iter().take_while(dead).count();
        self.waiters.drain(..dead);
    }

    /// The fair read/write lock: a reader enters unless a writer came before it, a writer unless
    /// anybody did. The dead do not count.
    pub(super) fn refuse_before_others(
        &mut self,
        owner: usize,
        ask: Ask,
        shut_out: Option<u64>,
        first: bool,
    ) -> Option<Says> {
        let shuts_out = |other: &Waiter| other.mode == Mode::Write || ask.mode == Mode::Write;
        let behind = first && self.living_before(owner).iter().any(shuts_out);
        if shut_out.is_none() && !behind {
            return None;
        }
        self.stand(owner, ask);
        // Until the last holder is gone, or the one right before it in line.
        let held = self.holds.iter().map(|hold| hold.until).max();
        let before = self.living_before(owner).last().map(|waiter| waiter.until);
        let until = [held, before].into_iter().flatten().min()?;
        let remaining = Some(until - self.now);
        Some(Says::Busy { remaining, in_line: ask.place.is_some() })
    }

    fn living_before(&self, owner: usize) -> Vec<Waiter> {
        let before = self.waiters.iter().take_while(|waiter| waiter.owner != owner);
        before.filter(|waiter| waiter.until > self.now).copied().collect()
    }
}
