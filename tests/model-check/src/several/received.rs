//! What a client makes of an answer.

use super::{
    op::{Ask, Op},
    setup::Setup,
    state::{Client, Hold},
};
use crate::{model::setup::YIELDING_MS, redis::Reply};

/// The answer to what was sent a moment ago.
pub(super) fn hear(setup: &Setup, client: &mut Client, op: Op, reply: &Reply, now: i64) {
    let parts = reply.parts();
    match op {
        Op::All(requests) => {
            let refused = parts.get(2).and_then(Reply::int).and_then(|at| usize::try_from(at).ok());
            for (lock, (slot, ask)) in client.holds.iter_mut().zip(requests).enumerate() {
                let Some(hold) = slot else { continue };
                match parts.first().and_then(Reply::text) {
                    Some("GRANTED") => hold.has(ask.holds, now),
                    Some("REFUSED") if refused == Some(lock + 1) => {
                        hold.refused(&parts[3..], ask, now);
                    }
                    Some("REFUSED") => hold.stored = hold.guards,
                    // Unknown: it is given up.
                    _ => hold.leaving |= hold.guards == 0,
                }
            }
        }
        Op::One(lock, ask) => {
            let Some(hold) = &mut client.holds[lock] else { return };
            match parts.first().and_then(Reply::text) {
                Some("GRANTED") => hold.has(ask.holds, now),
                Some(_) => hold.refused(parts, ask, now),
                None => hold.leaving = true,
            }
        }
        Op::Release { at: lock, holds, in_line, .. } => {
            let Some(hold) = &mut client.holds[lock] else { return };
            hold.stored = holds;
            hold.in_line &= !in_line;
            if parts.first().and_then(Reply::text) == Some("GONE") {
                hold.lose();
            }
        }
    }
    for slot in &mut client.holds {
        let over = |hold: &mut Hold| {
            hold.guards == 0 && hold.is_settled() && (hold.leaving || !setup.waits)
        };
        slot.take_if(over);
    }
}

impl Hold {
    /// By what its own script says.
    fn refused(&mut self, parts: &[Reply], ask: Ask, now: i64) {
        self.stored = ask.holds - 1;
        self.in_line = parts.get(3).and_then(Reply::int) == Some(1);
        match parts.first().and_then(Reply::text) {
            Some("YIELD") => {
                self.yields_until.get_or_insert(now + YIELDING_MS);
            }
            Some("BUSY") => {}
            // Of another kind, or its holds further out are gone.
            _ => self.lose(),
        }
    }
}
