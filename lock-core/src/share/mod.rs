//! Sharing: readers of one process that come for one key at about the same time read under one hold
//! of the store.
//!
//! The first of them asks the store and is the *host*. Who comes while it asks or reads is a
//! *guest*: a hold of its own, with its own guards, views and scope, of which the store knows
//! nothing. What the store has for the host stays until the last of them has gone, is renewed once
//! for all, and when it is lost all of them are told.
//!
//! Nobody joins any more once the host itself has read to its end: the next reader is another host,
//! and asks the store, which knows who waits. So a writer of another process waits for the host, as
//! it would in any case, and for one more read. How long others may join is bounded besides, for a
//! host that reads for long. At the gate a guest is a reader like any other, and queues behind the
//! writers of its own process.

mod guest;
mod invitation;

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    Kind, LeaseState, Mode,
    clock::Moment,
    error::Unavailable,
    gate::Permit,
    hold::{Hold, HoldState},
    request::{Patience, Request},
    store::Holds,
};
use invitation::Invitation;

/// What a host knows of those with whom it shares.
#[derive(Debug)]
pub(crate) struct Shared {
    asked: Asked,
    /// How many may still be invited.
    places: u32,
    /// Those invited who have not come yet.
    expected: u32,
    guests: Vec<Weak<Hold>>,
    /// How often guests have entered again what they were in.
    again: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    UnderWay,
    Granted,
    Refused,
}

impl Shared {
    fn new() -> Self {
        let guests = Vec::new();
        Self { asked: Asked::Refused, places: 0, expected: 0, guests, again: 0 }
    }

    /// Whether the store's part must stay for others than the host.
    fn is_needed(&self) -> bool {
        self.asked == Asked::Granted && (self.expected > 0 || !self.guests.is_empty())
    }
}

/// How many readers of this process may read under one hold of the store.
pub(crate) const MAX_SHARED_READERS: u32 = 64;

impl Request {
    /// How many others it would read with.
    fn places(&self) -> u32 {
        let alike = self.kind == Kind::ReadWrite && self.mode == Mode::Read;
        let most = self.terms.max_shared_readers.min(MAX_SHARED_READERS).saturating_sub(1);
        if alike && self.terms.renew { most } else { 0 }
    }
}

/// The guest that this reader becomes, if another one asks or reads already; without one, it is the
/// host of those who come while it asks. Waits for the other's answer for no longer than one command
/// may take.
pub(crate) async fn share(
    own: &Arc<Hold>,
    request: &Request,
    patience: Patience,
) -> Result<Option<Arc<Hold>>, Unavailable> {
    if request.places() == 0 {
        return Ok(None);
    }
    let Some(invitation) = invited(own, request) else { return Ok(None) };
    let one_command = own.engine.settings.command_timeout;
    let limit = patience.or_within(one_command).min(Instant::now() + one_command);
    let granted = tokio::time::timeout_at(limit, invitation.granted()).await;
    if granted.unwrap_or(false)
        && let Some(guest) = invitation.accept(own, request)
    {
        return Ok(Some(guest));
    }
    // What kept the other one from it may be told to this one at once.
    own.engine.check_breaker(request)?;
    Ok(None)
}

fn invited(own: &Arc<Hold>, request: &Request) -> Option<Invitation> {
    let gate = &own.engine.gate;
    loop {
        let host = gate.host(&own.key);
        if let Some(invitation) = host.upgrade().and_then(|host| Invitation::of(host, request)) {
            own.state().asks_alone();
            return Some(invitation);
        }
        own.state().asks_for_others(request.places());
        if gate.set_host(&own.key, &host, own) {
            return None;
        }
    }
}

/// Where the host's own hold may end before that of others, with its `max_hold`, it is a guest of
/// what it was granted.
pub(crate) fn apart(own: Arc<Hold>, request: &Request) -> Arc<Hold> {
    let mut theirs = own.state();
    let shares = theirs.shared.as_deref().is_some_and(|shared| shared.asked == Asked::Granted);
    if !shares || theirs.terms.max_hold.is_none() {
        drop(theirs);
        return own;
    }
    let waited = theirs.waited;
    let guest = theirs.guest(&own, request, waited, None);
    theirs.terms.max_hold = None;
    theirs.guards = Holds::default();
    drop(theirs);
    own.engine.schedule.add(&own);
    guest
}

impl Hold {
    /// It is not granted what it asked for: those who wait for that ask for themselves.
    pub(crate) fn asked_in_vain(&self) {
        self.state().asks_alone();
        self.announce();
    }

    /// Those who read under this hold.
    #[cfg(feature = "test-util")]
    pub(crate) fn guests(&self) -> Vec<Arc<Hold>> {
        let state = self.state();
        state.shared.iter().flat_map(|shared| &shared.guests).filter_map(Weak::upgrade).collect()
    }

    /// Whose hold it is that the store has: this one's own, or its host's.
    pub(crate) fn store_part(self: &Arc<Self>) -> Arc<Self> {
        self.state().host.clone().unwrap_or_else(|| Arc::clone(self))
    }
}

impl HoldState {
    /// What is held under the store's part: by own guards, and by those of guests, which count as
    /// one beside the host's.
    pub(crate) fn counted(&self) -> Holds {
        match &self.shared {
            Some(shared) if shared.is_needed() => {
                Holds { read: self.guards.read.max(1) + shared.again, ..self.guards }
            }
            _ => self.guards,
        }
    }

    /// One that reads under this hold of the host's.
    fn guest(
        &mut self,
        host: &Arc<Hold>,
        request: &Request,
        waited: bool,
        permit: Option<Permit>,
    ) -> Arc<Hold> {
        let mut state = HoldState {
            token: self.token,
            waited,
            host: Some(Arc::clone(host)),
            ..HoldState::new(request.terms, permit, Moment::now())
        };
        state.add_guard(request.mode);
        let guest = Hold::next_turn(host, request, state);
        if let Some(shared) = &mut self.shared {
            shared.guests.push(Arc::downgrade(&guest));
        }
        guest
    }

    fn asks_for_others(&mut self, places: u32) {
        let shared = self.shared.get_or_insert_with(|| Box::new(Shared::new()));
        (shared.asked, shared.places) = (Asked::UnderWay, places);
    }

    fn asks_alone(&mut self) {
        if let Some(shared) = &mut self.shared {
            shared.asked = Asked::Refused;
        }
    }

    /// The store has granted it, and to those who wait for that.
    pub(crate) fn granted_to_others(&mut self) {
        if let Some(shared) = &mut self.shared
            && shared.asked == Asked::UnderWay
        {
            shared.asked = Asked::Granted;
        }
    }

    /// Nobody else is invited.
    pub(crate) fn invites_no_more(&mut self) {
        if let Some(shared) = &mut self.shared {
            shared.places = 0;
        }
    }

    /// Whether one who joins now would have a lock, of which nothing is in doubt.
    fn can_be_joined(&self, now: Moment) -> bool {
        let certain = self.lost.is_none() && self.lease_state != LeaseState::Unknown;
        certain && now.until(self.believed_until) > Duration::ZERO
    }

    /// Takes the guests away from it.
    pub(crate) fn parts_from_guests(&mut self) -> Vec<Arc<Hold>> {
        let shared = self.shared.take();
        shared.iter().flat_map(|shared| &shared.guests).filter_map(Weak::upgrade).collect()
    }
}
