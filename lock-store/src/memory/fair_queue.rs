//! The line of a fair lock, in order of arrival. A place lives for a while unless it is renewed: a
//! waiter that died holds the others back for no longer.
//!
//! Every operation takes at most logarithmic time in the length of the line, and more only for the
//! places that it removes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use crate::{
    command::AcquireCommand,
    runtime::LeaseInstant,
    snapshot::WaiterSnapshot,
    types::{Mode, OwnerId},
};

/// The number of a place by arrival.
pub(crate) type Number = u64;

#[derive(Debug)]
pub(crate) struct QueueEntry {
    pub(crate) owner: OwnerId,
    pub(crate) mode: Mode,
    pub(crate) until: LeaseInstant,
}

#[derive(Debug, Default)]
pub(crate) struct FairQueue {
    entries: BTreeMap<Number, QueueEntry>,
    numbers: HashMap<OwnerId, Number>,
    writers: BTreeSet<Number>,
    ends: BTreeSet<(LeaseInstant, Number)>,
    last: Number,
}

impl FairQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn head(&self) -> Option<&QueueEntry> {
        self.entries.values().next()
    }

    /// The first place that came after the given one, which may be gone.
    pub(crate) fn behind(&self, number: Number) -> Option<&QueueEntry> {
        Some(self.entries.range(number + 1..).next()?.1)
    }

    /// The readers before the first writer.
    pub(crate) fn leading_readers(&self) -> impl Iterator<Item = &QueueEntry> {
        self.entries.values().take_while(|entry| entry.mode == Mode::Read)
    }

    pub(crate) fn has(&self, owner: &OwnerId) -> bool {
        self.numbers.contains_key(owner)
    }

    /// The numbers of the places that came before this owner's; of all places if it has none.
    fn before(&self, owner: &OwnerId) -> std::ops::RangeTo<Number> {
        ..self.numbers.get(owner).copied().unwrap_or(Number::MAX)
    }

    /// Whether this owner must let another one pass: a reader the writers that came before it, a
    /// writer every waiter that came before it.
    pub(crate) fn is_behind_others(&self, owner: &OwnerId, mode: Mode) -> bool {
        let before = self.before(owner);
        match mode {
            Mode::Read => self.writers.range(before).next().is_some(),
            Mode::Write => self.entries.range(before).next().is_some(),
        }
    }

    /// The place right before this owner's, or the last one.
    pub(crate) fn right_before(&self, owner: &OwnerId) -> Option<&QueueEntry> {
        Some(self.entries.range(self.before(owner)).next_back()?.1)
    }

    /// Takes a place at the end, or renews the existing one.
    pub(crate) fn join(&mut self, command: &AcquireCommand, life: Duration, now: LeaseInstant) {
        let until = now.after(life);
        let own = self.numbers.get(&command.owner).copied();
        let number = own.unwrap_or(self.last + 1);
        self.ends.insert((until, number));
        if let Some(own) = self.entries.get_mut(&number) {
            if own.until != until {
                self.ends.remove(&(own.until, number));
            }
            own.until = until;
            return;
        }
        self.last = number;
        self.numbers.insert(command.owner.clone(), number);
        if command.mode == Mode::Write {
            self.writers.insert(number);
        }
        self.entries
            .insert(number, QueueEntry { owner: command.owner.clone(), mode: command.mode, until });
    }

    /// Removes a place and returns its number.
    pub(crate) fn leave(&mut self, owner: &OwnerId) -> Option<Number> {
        let number = self.numbers.get(owner).copied()?;
        self.remove(number);
        Some(number)
    }

    fn remove(&mut self, number: Number) {
        let Some(entry) = self.entries.remove(&number) else { return };
        self.numbers.remove(&entry.owner);
        self.writers.remove(&number);
        self.ends.remove(&(entry.until, number));
    }

    pub(crate) fn first_living(&self, now: LeaseInstant) -> Option<&QueueEntry> {
        self.entries.values().find(|entry| entry.until > now)
    }

    /// Returns whether there were any. A caller that comes back late keeps its place if no other waiter
    /// has missed it.
    pub(crate) fn drop_dead_heads_but(
        &mut self,
        caller: Option<&OwnerId>,
        now: LeaseInstant,
    ) -> bool {
        let before = self.entries.len();
        while let Some((&number, head)) = self.entries.first_key_value()
            && head.until <= now
            && Some(&head.owner) != caller
        {
            self.remove(number);
        }
        self.entries.len() < before
    }

    /// As [`drop_dead_heads_but`](Self::drop_dead_heads_but), wherever they are.
    pub(crate) fn drop_dead_but(&mut self, caller: Option<&OwnerId>, now: LeaseInstant) -> bool {
        let own = caller.and_then(|caller| self.numbers.get(caller)).copied();
        let dead = self.ends.range(..=(now, Number::MAX)).map(|(_, number)| *number);
        let dead: Vec<_> = dead.filter(|number| Some(*number) != own).collect();
        dead.iter().for_each(|number| self.remove(*number));
        !dead.is_empty()
    }

    /// Forgets all places once the last one is over: no waiter is left that could miss them.
    pub(crate) fn expire(&mut self, now: LeaseInstant) {
        if self.ends.last().is_some_and(|(until, _)| *until <= now) {
            *self = Self { last: self.last, ..Self::default() };
        }
    }

    pub(crate) fn snapshots(&self, now: LeaseInstant) -> impl Iterator<Item = WaiterSnapshot> {
        let live = self.entries.values().filter(move |entry| entry.until > now);
        live.map(|entry| WaiterSnapshot::new(entry.owner.to_string(), entry.mode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        command::Holder,
        types::{Kind, LockKey},
    };

    /// The other parts of the line have the same places as the line.
    fn agrees(queue: &FairQueue) -> Vec<String> {
        let all = |entry: (&Number, &QueueEntry)| (entry.1.until, *entry.0);
        assert_eq!(queue.ends, queue.entries.iter().map(all).collect());
        assert_eq!(queue.numbers.len(), queue.entries.len());
        for (number, entry) in &queue.entries {
            assert_eq!(queue.numbers.get(&entry.owner), Some(number));
            assert_eq!(queue.writers.contains(number), entry.mode == Mode::Write);
        }
        assert!(queue.writers.len() <= queue.entries.len());
        queue.entries.values().map(|entry| entry.owner.to_string()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn places_are_kept_in_order_of_arrival_until_they_end() {
        let key = LockKey::try_from("k").expect("a key");
        let life = Duration::from_secs(3);
        let owners: Vec<_> = (0..4).map(|_| OwnerId::permit()).collect();
        let step = |at: usize, mode| {
            let holder = Holder::new(Kind::FairReadWrite, key.clone(), owners[at].clone());
            AcquireCommand::new(holder, mode, life)
        };
        let names =
            |all: &[usize]| -> Vec<_> { all.iter().map(|at| owners[*at].to_string()).collect() };
        let mut queue = FairQueue::default();
        let modes = [Mode::Read, Mode::Write, Mode::Read, Mode::Write];
        for (at, mode) in modes.into_iter().enumerate() {
            queue.join(&step(at, mode), life, LeaseInstant::now());
        }
        assert_eq!(agrees(&queue), names(&[0, 1, 2, 3]));
        let behind = |queue: &FairQueue, at: usize| queue.is_behind_others(&owners[at], modes[at]);
        assert_eq!([0, 1, 2, 3].map(|at| behind(&queue, at)), [false, true, true, true]);

        tokio::time::advance(life / 2).await;
        queue.join(&step(2, Mode::Read), life, LeaseInstant::now());
        queue.join(&step(3, Mode::Write), life, LeaseInstant::now());
        assert_eq!(agrees(&queue), names(&[0, 1, 2, 3]), "a renewed place stays where it is");
        let left = queue.leave(&owners[0]).expect("it stands there");
        assert_eq!(queue.behind(left).map(|next| &next.owner), Some(&owners[1]));
        tokio::time::advance(life / 2).await;
        assert!(
            !queue.drop_dead_but(Some(&owners[1]), LeaseInstant::now()),
            "it came back in time"
        );
        assert!(queue.drop_dead_but(None, LeaseInstant::now()));
        assert_eq!(agrees(&queue), names(&[2, 3]));
        assert!(!behind(&queue, 2), "no writer is left before it");
        assert_eq!(queue.right_before(&owners[3]).map(|one| &one.owner), Some(&owners[2]));
        tokio::time::advance(life).await;
        queue.expire(LeaseInstant::now());
        assert!(agrees(&queue).is_empty());
    }
}
