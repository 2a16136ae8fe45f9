//! What the scripts answer, as types: the one place that knows the shape of a reply.

use std::time::Duration;

use redis::Value;

use crate::{
    FencingToken, Mode,
    backend::{Acquired, Downgraded, Holds, Released, Renewal, Standing, Upgraded},
    error::Unavailable,
};

/// A script's reply: `{STATUS, nonce, ...}`.
#[derive(Debug)]
pub(super) struct Reply(Vec<Value>);

/// Whether a reply answers the question that carried `nonce`.
pub(super) fn answers(reply: &Value, nonce: &str) -> Result<(), Unavailable> {
    let carried = match reply {
        Value::Array(parts) => parts.get(1),
        _ => None,
    };
    if matches!(carried, Some(Value::BulkString(bytes)) if bytes == nonce.as_bytes()) {
        return Ok(());
    }
    Err(Unavailable::unsent("an answer was to another question: the connection is replaced"))
}

impl Reply {
    pub(super) fn new(value: Value) -> Self {
        Self(match value {
            Value::Array(parts) => parts,
            other => vec![other],
        })
    }

    pub(super) fn acquired(&self) -> Result<Acquired, Unavailable> {
        Ok(match self.status()? {
            "GRANTED" => Acquired::Granted(self.token()),
            "BUSY" => Acquired::Busy { remaining: self.span(2), marked: self.number(3) == Some(1) },
            "YIELD" => Acquired::Yield { remaining: self.span(2).unwrap_or_default() },
            "LOST" => Acquired::Lost,
            "WRONG_KIND" => Acquired::WrongKind,
            _ => return Err(self.strange()),
        })
    }

    pub(super) fn released(&self) -> Result<Released, Unavailable> {
        Ok(match self.status()? {
            "FREED" => Released::Freed,
            "RELEASED" => Released::StillHeld,
            "GONE" => Released::Gone,
            _ => return Err(self.strange()),
        })
    }

    pub(super) fn renewed(&self) -> Result<Vec<Renewal>, Unavailable> {
        match self.status()? {
            "RENEWED" => Ok((2..self.0.len())
                .map(|at| match self.number(at) {
                    Some(1) => Renewal::Renewed,
                    Some(0) => Renewal::Lost,
                    _ => Renewal::Failed,
                })
                .collect()),
            _ => Err(self.strange()),
        }
    }

    pub(super) fn upgraded(&self) -> Result<Upgraded, Unavailable> {
        match (self.status()?, self.token()) {
            ("GRANTED", Some(token)) => Ok(Upgraded::Granted(token)),
            ("BUSY", _) => Ok(Upgraded::NotSole),
            ("LOST", _) => Ok(Upgraded::Lost),
            // The hold may well be there: its token's key can be the one in question.
            ("WRONG_KIND", _) => Err(Unavailable::unsent(
                "something else stands under the name of the lock or of its fencing token",
            )),
            _ => Err(self.strange()),
        }
    }

    pub(super) fn downgraded(&self) -> Result<Downgraded, Unavailable> {
        match self.status()? {
            "RELEASED" => Ok(Downgraded::Done),
            "LOST" => Ok(Downgraded::Lost),
            _ => Err(self.strange()),
        }
    }

    pub(super) fn standing(&self) -> Result<Option<Standing>, Unavailable> {
        let count = |at| self.number(at).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        match self.status()? {
            "STATE" => Ok(Some(Standing {
                mode: match self.text(2) {
                    Some("read") => Some(Mode::Read),
                    Some("write") => Some(Mode::Write),
                    _ => None,
                },
                readers: count(3),
                own: Holds { read: count(4), write: count(5) },
            })),
            "WRONG_KIND" => Ok(None),
            _ => Err(self.strange()),
        }
    }

    fn status(&self) -> Result<&str, Unavailable> {
        self.text(0).ok_or_else(|| self.strange())
    }

    fn token(&self) -> Option<FencingToken> {
        self.text(2)?.parse().ok().map(FencingToken::new)
    }

    /// Milliseconds; negative for no limit.
    fn span(&self, at: usize) -> Option<Duration> {
        self.number(at).and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis)
    }

    fn text(&self, at: usize) -> Option<&str> {
        match self.0.get(at) {
            Some(Value::BulkString(bytes)) => std::str::from_utf8(bytes).ok(),
            Some(Value::SimpleString(text)) => Some(text),
            _ => None,
        }
    }

    fn number(&self, at: usize) -> Option<i64> {
        match self.0.get(at) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        }
    }

    fn strange(&self) -> Unavailable {
        Unavailable::unsent(format!("BUG: a lock script answered {:?}", self.0))
    }
}
