//! A line of waiters in order of arrival. A place lives for a while unless it is renewed: a waiter
//! that died holds the others back for no longer.

use std::{collections::VecDeque, time::Duration};

use crate::{
    runtime::Moment,
    store::{AcquireCommand, WaiterSnapshot},
    types::{Mode, OwnerId},
};

#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) owner: OwnerId,
    pub(crate) mode: Mode,
    pub(crate) until: Moment,
}

#[derive(Debug, Default)]
pub(crate) struct Line(VecDeque<Place>);

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn head(&self) -> Option<&Place> {
        self.0.front()
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Place> {
        self.0.get(at)
    }

    /// The readers before the first writer.
    pub(crate) fn leading_readers(&self) -> impl Iterator<Item = &Place> {
        self.0.iter().take_while(|place| place.mode == Mode::Read)
    }

    pub(crate) fn has(&self, owner: &OwnerId) -> bool {
        self.position(owner).is_some()
    }

    fn position(&self, owner: &OwnerId) -> Option<usize> {
        self.0.iter().position(|place| place.owner == *owner)
    }

    /// Those who came before this owner; all, when it stands in no line.
    pub(crate) fn before(&self, owner: &OwnerId) -> impl DoubleEndedIterator<Item = &Place> {
        self.0.range(..self.position(owner).unwrap_or(self.0.len()))
    }

    /// Takes a place at the end, or renews the one that it has.
    pub(crate) fn stand(&mut self, step: &AcquireCommand, life: Duration, now: Moment) {
        let (owner, until) = (&step.owner, now.after(life));
        match self.0.iter_mut().find(|place| place.owner == *owner) {
            Some(place) => place.until = until,
            None => self.0.push_back(Place { owner: owner.clone(), mode: step.mode, until }),
        }
    }

    /// Says where it stood.
    pub(crate) fn leave(&mut self, owner: &OwnerId) -> Option<usize> {
        let at = self.position(owner)?;
        self.0.remove(at);
        Some(at)
    }

    pub(crate) fn first_living(&self, now: Moment) -> Option<&Place> {
        self.0.iter().find(|place| place.until > now)
    }

    /// Who comes back late keeps its place if nobody has missed it.
    pub(crate) fn drop_dead_heads_but(&mut self, caller: Option<&OwnerId>, now: Moment) -> bool {
        let before = self.0.len();
        let dead = |place: &Place| place.until <= now && Some(&place.owner) != caller;
        while self.0.front().is_some_and(dead) {
            self.0.pop_front();
        }
        self.0.len() < before
    }

    /// As [`drop_dead_heads_but`](Self::drop_dead_heads_but), wherever they stand.
    pub(crate) fn drop_dead_but(&mut self, caller: Option<&OwnerId>, now: Moment) -> bool {
        let before = self.0.len();
        self.0.retain(|place| place.until > now || Some(&place.owner) == caller);
        self.0.len() < before
    }

    /// When nobody is left who could miss them.
    pub(crate) fn expire(&mut self, now: Moment) {
        if self.0.iter().all(|place| place.until <= now) {
            self.0.clear();
        }
    }

    pub(crate) fn standing(&self, now: Moment) -> impl Iterator<Item = WaiterSnapshot> {
        let live = self.0.iter().filter(move |place| place.until > now);
        live.map(|place| WaiterSnapshot { owner: place.owner.to_string(), mode: place.mode })
    }
}
