//! What a release may give on, and to whom.

use super::{
    deed::name,
    news::News,
    op::{Op, TURNS, first_lease},
    rules::{Step, broken},
    setup::place,
    standing::{Held, Place, Standing, Waiter},
    wrong::Wrong,
};

/// So many grants by releases in a row; then the lock is free.
const MOST_IN_A_ROW: u32 = 16;

impl Step<'_> {
    /// Nobody gets the lock by another's step but who stood by and was told.
    pub(super) fn gives_on(&self) -> Result<(), Wrong> {
        let Some(told) = self.granted else { return Err(Wrong::Reply) };
        let is_new = |held: &&Held| !self.before.by(&held.owner).is_some_and(Held::lives);
        let new: Vec<&Held> = self.after.others(self.owner).filter(is_new).collect();
        match (told, new.as_slice()) {
            ([], []) => self.leaves_nobody_standing(),
            ([news], [held]) => self.gives_to(*news, held),
            _ => Err(Wrong::FalseGrant),
        }
    }

    /// The owner that this step has given the lock to.
    pub(super) fn is_given_to(&self, owner: &[u8]) -> bool {
        let told = self.granted.unwrap_or_default().iter();
        told.map(|news| name(self.setup, news.owner)).any(|given| given == owner)
    }

    /// How many were granted the lock in a row before a release that may give it on.
    fn row(&self) -> Option<u32> {
        let Op::Release { holds: 0, row, .. } = self.op else { return None };
        row.filter(|row| *row < MOST_IN_A_ROW)
    }

    fn gives_to(&self, news: News, held: &Held) -> Result<(), Wrong> {
        let row = self.row().ok_or(Wrong::FalseGrant)?;
        let owner = name(self.setup, news.owner);
        broken(Wrong::Exclusion, self.after.others(&owner).next().is_some())?;
        let place = self.alive().find(|place| place.owner == owner).ok_or(Wrong::FalseGrant)?;
        let as_asked = news.ask == place.ask && held.left == place.lease && news.row == row + 1;
        let alone = held.owner == owner && (held.writes, held.reads) == (1, 0);
        broken(Wrong::FalseGrant, !as_asked || !alone)?;
        let mut marked = longer_than(place, self.before);
        let overtaken = self.alive().any(|other| other.since < place.since)
            || marked.any(|one| one.owner != self.owner && one.left > 0);
        broken(Wrong::Overtaken, overtaken)?;
        broken(Wrong::StillWaits, self.after.waits(&owner))?;
        let reserved = news.token + i64::from(TURNS);
        broken(Wrong::Token, news.token <= self.highest || self.after.token != reserved)
    }

    /// A lock that is free is given to who has waited longest, where it may be given on.
    fn leaves_nobody_standing(&self) -> Result<(), Wrong> {
        if self.passes_by() || self.row().is_none() || self.status() != "FREED" {
            return Ok(());
        }
        let longest = self.alive().map(|place| place.since).min();
        let mut first = self.alive().filter(|place| Some(place.since) == longest).peekable();
        let stands = first.peek().is_some();
        let is_behind = |place| longer_than(place, self.after).next().is_some();
        broken(Wrong::NotTold, stands && !first.any(is_behind))
    }

    /// Those who stood by and may be given the lock.
    fn alive(&self) -> impl Iterator<Item = &Place> {
        let places = self.before.standing_by.iter();
        places.filter(|place| place.owner != self.owner && place.left > 0)
    }

    /// Who is refused stands by as it said.
    pub(super) fn stands_by(&self) -> Result<(), Wrong> {
        let Op::Acquire { ask: Some(ask), lease, waited, .. } = self.op else { return Ok(()) };
        let left = i64::try_from(place(self.setup.kind).as_millis()).unwrap_or_default();
        let (since, lease) = (self.now - waited, first_lease(lease));
        let owner = self.owner.to_vec();
        let said = Place { owner, since, left, ask, turns: TURNS, lease };
        broken(Wrong::Overtaken, !self.after.standing_by.contains(&said))
    }

    /// Whether those who stand by may lose their places, being taken for dead.
    pub(super) fn passes_by(&self) -> bool {
        self.setup.uncounted && self.row().is_some()
    }

    /// Who gets the lock, gives up or is given it leaves; nobody else does before its time is over.
    pub(super) fn leaves_those_who_stand_by(&self) -> Result<(), Wrong> {
        let stays = |place: &Place| self.after.standing_by.contains(place);
        let gone = self.alive().any(|place| !stays(place) && !self.is_given_to(&place.owner));
        broken(Wrong::Overtaken, gone && !self.passes_by())
    }
}

/// Others that wait, and have waited for longer.
fn longer_than<'a>(place: &'a Place, at: &'a Standing) -> impl Iterator<Item = &'a Waiter> {
    at.waiters.iter().filter(|one| one.owner != place.owner && one.since < place.since)
}
