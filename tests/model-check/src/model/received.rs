//! What a client makes of an answer.

use lock_core::{Kind, Mode, test_util::validity};

use super::{
    lock_use::Whose,
    names,
    op::{Op, span},
    replies,
    setup::Setup,
    state::{Client, Hold, Holds, Tried},
};
use crate::redis::Reply;

/// The answer to what was sent a moment ago. Returns the fencing token of what the client believes in
/// since then.
pub(super) fn hear(
    setup: &Setup,
    client: &mut Client,
    whose: Whose,
    op: Op,
    reply: &Reply,
    now: i64,
) -> Option<i64> {
    let known = client.known;
    let slot = match whose {
        Whose::Hold => &mut client.hold,
        Whose::Stale => &mut client.stale,
    };
    let hold = slot.as_mut()?;
    let mut token = None;
    let status = reply.parts().first().and_then(Reply::text).unwrap_or_default();
    match op {
        Op::Acquire { mode, holds, lease, .. } if hold.guards.none() => {
            if status != "GRANTED" {
                hold.refused(status, reply, mode, now);
            } else {
                hold.has(mode, holds);
                hold.confirm(mode, lease, now);
                (hold.in_line, hold.taken) = (None, false);
            }
        }
        Op::Acquire { mode, holds, lease, .. } => {
            let inner = setup.kind == Kind::Semaphore
                || reply.parts().get(2).and_then(Reply::text) == Some("");
            if status == "GRANTED" && inner {
                hold.has(mode, holds);
                hold.confirm(mode, lease, now);
            } else {
                hold.lose();
            }
        }
        Op::Release { mode, holds, in_line } => {
            *hold.stored.of_mut(mode) = holds;
            if in_line {
                hold.in_line = None;
            }
            if status == "GONE" {
                hold.lose();
            }
        }
        Op::Leave { mode } => {
            *hold.stored.of_mut(mode) = 0;
            hold.in_line = None;
        }
        Op::Renew { mode, lease } => match reply.parts().get(2).and_then(Reply::int) {
            Some(1) => {
                hold.confirm(mode, lease, now);
                if hold.guards.reads > 0 {
                    hold.confirm(Mode::Read, lease, now);
                }
            }
            _ => hold.lose(),
        },
        Op::TryFree { mode, .. } => {
            let is_taken = reply.text() == Some("OK");
            if !is_taken {
                *hold.stored.of_mut(mode) = 0;
                hold.tried = None;
            } else if let Some(tried) = hold.tried {
                token = hold.taken_free(setup, tried, now);
            } else {
                hold.tried = Some(Tried { sent: now, known, token: None });
            }
        }
        Op::DrawToken => {
            let drawn = reply.int();
            match hold.tried {
                Some(tried) if setup.believes_unread => {
                    token = hold.taken_free(setup, Tried { token: drawn, ..tried }, now);
                }
                Some(tried) => hold.tried = Some(Tried { token: drawn, ..tried }),
                None => hold.tried = Some(Tried { sent: now, known, token: drawn }),
            }
        }
        Op::ReadValue => {
            let name = names::owner(setup.kind, setup.names, hold.owner);
            let value = reply.text().unwrap_or_default();
            let rest = value.as_bytes().get(5..).and_then(|rest| rest.strip_prefix(&*name));
            match hold.tried.take() {
                Some(tried) if matches!(rest, Some([] | [b' ', ..])) => {
                    token = hold.taken_free(setup, tried, now);
                }
                _ => {}
            }
        }
        Op::Upgrade { after, lease } => hold.upgraded(status, after, lease, now),
        Op::Downgrade { after, lease } => {
            hold.settled_as(after);
            if status == "RELEASED" {
                hold.confirm(Mode::Read, lease, now);
                if after.writes == 0 {
                    hold.until = hold.reads_until;
                }
            } else {
                hold.lose();
            }
        }
    }
    let over = hold.guards.none() && hold.is_settled();
    if over && hold.tried.is_none() && (hold.leaving || !setup.waits) {
        *slot = None;
    }
    if let Op::Acquire { .. } | Op::Upgrade { .. } = op
        && status == "GRANTED"
    {
        token = reply.parts().get(2).and_then(replies::token).filter(|token| *token > 0);
        client.raised |= token.is_some() && matches!(op, Op::Acquire { .. });
    }
    client.known = known.max(token.unwrap_or_default());
    token
}

/// For how long what was granted for this lease is believed in.
pub(super) fn believed(lease: i64) -> i64 {
    i64::try_from(validity(span(lease)).as_millis()).unwrap_or(i64::MAX)
}

impl Hold {
    pub(super) fn has(&mut self, mode: Mode, holds: u32) {
        *self.guards.of_mut(mode) = holds;
        *self.stored.of_mut(mode) = holds;
    }

    /// All commands are answered. Belief counts from sending; a token that is not above what the
    /// client knew then, because the counter was lost, is not used: a script must find out.
    fn taken_free(&mut self, setup: &Setup, tried: Tried, now: i64) -> Option<i64> {
        let (mode, lease) = self.requested;
        self.tried = None;
        let token = tried.token?;
        if token <= tried.known && !setup.believes_any_token {
            return None;
        }
        if tried.sent + believed(lease) <= now {
            self.lose();
            return None;
        }
        self.has(mode, 1);
        self.confirm(mode, lease, tried.sent);
        self.in_line = None;
        Some(token)
    }

    fn settled_as(&mut self, holds: Holds) {
        self.doubt = false;
        self.stored = holds;
    }

    pub(super) fn confirm(&mut self, mode: Mode, lease: i64, sent: i64) {
        self.until = self.until.max(sent + believed(lease));
        if mode == Mode::Read {
            self.reads_until = self.reads_until.max(sent + believed(lease));
        }
    }

    fn refused(&mut self, status: &str, reply: &Reply, mode: Mode, now: i64) {
        *self.stored.of_mut(mode) = 0;
        let stands = reply.parts().get(3).and_then(Reply::int) == Some(1);
        self.in_line = stands.then_some(mode);
        if status == "YIELD" {
            self.yielded(now);
        }
    }

    fn upgraded(&mut self, status: &str, after: Holds, lease: i64, now: i64) {
        match status {
            "GRANTED" => {
                self.guards = after;
                self.settled_as(after);
                self.confirm(Mode::Write, lease, now);
                if after.reads > 0 {
                    self.confirm(Mode::Read, lease, now);
                }
            }
            "BUSY" => {
                let guards = self.guards;
                self.settled_as(guards);
            }
            _ => {
                self.doubt = false;
                self.lose();
            }
        }
    }
}
