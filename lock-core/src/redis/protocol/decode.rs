//! Decodes the scripts' replies: the only place that depends on the shape of a reply.

use std::{fmt, time::Duration};

use lock_store::{
    Acquired, AcquiredAll, Downgraded, FencingToken, Mode, Released, Renewal, Transferred,
    Unavailable, Upgraded,
};
use redis::Value;

use super::server_text::cleaned;

/// A greater token is not accepted, so there is always room for those that follow. A counter of
/// microseconds reaches it in the year 2112.
pub(crate) const MOST_TOKEN: u64 = 1 << 52;
/// The longest remaining time of a lease that is accepted: the longest lease.
const MOST_SPAN: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A script's reply: `{STATUS, nonce, ...}`.
pub(crate) enum Reply {
    List(Vec<Value>),
    /// The same from a fast path: its parts separated by spaces.
    Text(Vec<u8>),
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(parts) => parts.fmt(f),
            Self::Text(text) => String::from_utf8_lossy(text).fmt(f),
        }
    }
}

/// Whether a reply answers the request that carried `nonce`.
pub(crate) fn answers(reply: &Value, nonce: &str) -> Result<(), Unavailable> {
    let carried = match reply {
        Value::Array(parts) => match parts.get(1) {
            Some(Value::BulkString(nonce)) => Some(nonce.as_slice()),
            _ => None,
        },
        Value::BulkString(text) => second_word(text, nonce.len()),
        _ => None,
    };
    // Checked before anything is decoded: a grant that belongs to another request would let two
    // callers hold one lock.
    if carried == Some(nonce.as_bytes()) {
        return Ok(());
    }
    Err(Unavailable::unsent("received a reply that belongs to another command: reconnecting"))
}

/// The outcome of a release that was perhaps sent more than once. After a retry the first attempt may
/// have released the lock already: reported as gone, it would count as lost although the work under it
/// was covered.
pub(crate) fn after_retry(released: Released, again: bool) -> Released {
    if again && released == Released::Gone { Released::StillHeld } else { released }
}

/// The outcome of each of several releases.
pub(crate) fn released_all(answer: &Value) -> Vec<Result<Released, Unavailable>> {
    let Value::Array(parts) = answer else { return Vec::new() };
    parts.iter().skip(2).map(|part| Reply::List(vec![part.clone()]).released_at(0)).collect()
}

/// The outcome of each of several releases by a fast path, and how many clients have received that the
/// lock is free; `None`: the full script must release it.
pub(crate) fn released_together(answer: &Value, locks: usize) -> Vec<Option<(Released, i64)>> {
    let Value::BulkString(text) = answer else { return vec![None; locks] };
    let mut answers = vec![Some((Released::Freed, 0)); locks];
    let words = std::str::from_utf8(text).unwrap_or_default().split(' ').skip(2);
    for (at, outcome) in words.filter_map(|word| word.split_once(':')) {
        let at = at.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
        let Some(answer) = at.and_then(|at| answers.get_mut(at)) else { continue };
        let (status, received) = outcome.split_once(':').unwrap_or((outcome, "0"));
        let released = match status {
            "FREED" => Some(Released::Freed),
            "RELEASED" => Some(Released::StillHeld),
            "GONE" => Some(Released::Gone),
            _ => None,
        };
        *answer = released.and_then(|released| Some((released, received.parse().ok()?)));
    }
    answers
}

/// The numbers, from 1, of the locks that had another value than their owners have put there.
pub(crate) fn other_values(answer: &Value) -> Vec<usize> {
    let Value::BulkString(text) = answer else { return Vec::new() };
    let numbers = text.split(|byte| *byte == b' ').skip(2);
    numbers.filter_map(|number| std::str::from_utf8(number).ok()?.parse().ok()).collect()
}

impl Reply {
    pub(crate) fn new(value: Value) -> Self {
        match value {
            Value::Array(parts) => Self::List(parts),
            Value::BulkString(text) => Self::Text(text),
            other => Self::List(vec![other]),
        }
    }

    pub(crate) fn is_grant(&self) -> bool {
        self.text(0) == Some("GRANTED")
    }

    pub(crate) fn acquired(&self) -> Result<Acquired, Unavailable> {
        Ok(match self.status()? {
            "GRANTED" => Acquired::Granted(self.token(2)?),
            "BUSY" => {
                Acquired::Busy { remaining: self.span(2), in_line: self.number(3) == Some(1) }
            }
            "YIELD" => Acquired::Yield {
                remaining: self.span(2).unwrap_or_default(),
                in_line: self.number(3) == Some(1),
            },
            "LOST" => Acquired::Lost,
            "WRONG_KIND" => Acquired::WrongKind,
            _ => return Err(self.strange()),
        })
    }

    /// How many permits a semaphore of Redisson's wire has, if the caller gave another number.
    pub(crate) fn permits_in_store(&self) -> Option<i64> {
        self.number(if self.is_grant() { 3 } else { 4 })
    }

    pub(crate) fn released(&self) -> Result<Released, Unavailable> {
        Ok(match self.status()? {
            "FREED" => Released::Freed,
            "RELEASED" => Released::StillHeld,
            "GONE" => Released::Gone,
            _ => return Err(self.strange()),
        })
    }

    /// How many clients without a place in line have received that the lock is free.
    pub(crate) fn listeners(&self) -> Option<i64> {
        self.number(2)
    }

    fn released_at(&self, at: usize) -> Result<Released, Unavailable> {
        Ok(match self.text(at) {
            Some("FREED") => Released::Freed,
            Some("RESERVED") => Released::Reserved,
            Some("HELD") => Released::StillHeld,
            Some("GONE") => Released::Gone,
            Some(wrong) => {
                return Err(Unavailable::unsent(format!("not released: {}", cleaned(wrong))));
            }
            None => return Err(self.strange()),
        })
    }

    pub(crate) fn renewed(&self) -> Result<Vec<Renewal>, Unavailable> {
        match self.status()? {
            "RENEWED" => Ok((2..self.parts().len())
                .map(|at| match self.number(at) {
                    Some(1) => Renewal::Renewed,
                    Some(0) => Renewal::Lost,
                    _ => Renewal::failed(
                        self.text(at)
                            .map_or_else(|| "the answer is not understood".to_owned(), cleaned),
                    ),
                })
                .collect()),
            _ => Err(self.strange()),
        }
    }

    pub(crate) fn left(&self) -> Result<(), Unavailable> {
        if self.status()? == "LEFT" { Ok(()) } else { Err(self.strange()) }
    }

    pub(crate) fn upgraded(&self) -> Result<Upgraded, Unavailable> {
        match (self.status()?, self.token(2)?) {
            ("GRANTED", Some(token)) => Ok(Upgraded::Granted(token)),
            ("BUSY", _) => Ok(Upgraded::NotSole),
            ("LOST", _) => Ok(Upgraded::Lost),
            // The hold may exist: the key of its token can be the one of the wrong kind.
            ("WRONG_KIND", _) => Err(Unavailable::unsent(
                "the key of the lock or of its fencing token holds another value",
            )),
            _ => Err(self.strange()),
        }
    }

    pub(crate) fn downgraded(&self) -> Result<Downgraded, Unavailable> {
        match self.status()? {
            "RELEASED" => Ok(Downgraded::Done),
            "LOST" => Ok(Downgraded::Lost),
            _ => Err(self.strange()),
        }
    }

    pub(crate) fn transferred(&self) -> Result<Transferred, Unavailable> {
        match self.status()? {
            "TRANSFERRED" => Ok(Transferred::Done),
            "LOST" => Ok(Transferred::Gone),
            _ => Err(self.strange()),
        }
    }

    /// For this number of requested locks.
    pub(crate) fn acquired_all(&self, locks: usize) -> Result<AcquiredAll, Unavailable> {
        match (self.status()?, self.number(2).and_then(|at| usize::try_from(at).ok())) {
            ("GRANTED", _) if self.parts().len() == 2 + locks => {
                let tokens = (2..2 + locks).map(|at| self.token(at));
                Ok(AcquiredAll::Granted(tokens.collect::<Result<_, _>>()?))
            }
            ("REFUSED", Some(at)) if (1..=locks).contains(&at) => {
                let own = match self.parts() {
                    [_, _, _, Value::BulkString(words)] => Reply::Text(words.clone()),
                    parts => Reply::List(parts.get(3..).unwrap_or_default().to_vec()),
                };
                Ok(AcquiredAll::Refused { at: at - 1, answer: own.acquired()? })
            }
            _ => Err(self.strange()),
        }
    }

    pub(super) fn list(&self, at: usize) -> impl Iterator<Item = Reply> + '_ {
        let items = match self.parts().get(at) {
            Some(Value::Array(items)) => items.as_slice(),
            _ => &[],
        };
        items.iter().cloned().map(Reply::new)
    }

    pub(super) fn mode(&self, at: usize) -> Option<Mode> {
        match self.text(at) {
            Some("read") => Some(Mode::Read),
            Some("write") => Some(Mode::Write),
            _ => None,
        }
    }

    pub(super) fn status(&self) -> Result<&str, Unavailable> {
        self.text(0).ok_or_else(|| self.strange())
    }

    /// The items of a list.
    fn parts(&self) -> &[Value] {
        match self {
            Self::List(parts) => parts,
            Self::Text(_) => &[],
        }
    }

    /// `None` where there is none: of a re-entry, and of a permit.
    pub(super) fn token(&self, at: usize) -> Result<Option<FencingToken>, Unavailable> {
        let Some(text) = self.text(at).filter(|text| !text.is_empty()) else { return Ok(None) };
        match text.parse() {
            Ok(token) if token <= MOST_TOKEN => Ok(Some(FencingToken::new(token))),
            _ => Err(Unavailable::unsent(format!(
                "the server returned a fencing token that is not a number up to {MOST_TOKEN}: {}; \
                 check the keys lock_token:* and redisson_lock_token:*",
                beginning(text)
            ))),
        }
    }

    /// A number of milliseconds; negative for no limit.
    pub(super) fn span(&self, at: usize) -> Option<Duration> {
        let span = self.number(at).and_then(|ms| u64::try_from(ms).ok());
        span.map(|ms| Duration::from_millis(ms).min(MOST_SPAN))
    }

    pub(super) fn text(&self, at: usize) -> Option<&str> {
        let bytes = match self {
            Self::Text(text) => word(text, at)?,
            Self::List(parts) => match parts.get(at)? {
                Value::BulkString(bytes) => bytes,
                _ => return None,
            },
        };
        std::str::from_utf8(bytes).ok()
    }

    pub(super) fn number(&self, at: usize) -> Option<i64> {
        match self {
            Self::Text(_) => self.text(at)?.parse().ok(),
            Self::List(parts) => match parts.get(at)? {
                Value::Int(number) => Some(*number),
                _ => None,
            },
        }
    }

    pub(super) fn strange(&self) -> Unavailable {
        let text = format!("{self:?}");
        Unavailable::unsent(format!("BUG: a lock script answered {}", beginning(&text)))
    }
}

/// A server may send megabytes; an error is read by people.
fn beginning(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The second word, if it is this long.
fn second_word(text: &[u8], length: usize) -> Option<&[u8]> {
    let start = 1 + text.iter().position(|byte| *byte == b' ')?;
    let (word, rest) = text[start..].split_at_checked(length)?;
    matches!(rest, [] | [b' ', ..]).then_some(word)
}

fn word(text: &[u8], at: usize) -> Option<&[u8]> {
    text.split(|byte| *byte == b' ').nth(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    #[test]
    fn a_text_decodes_as_the_list_of_its_words() {
        let busy = Value::Array(vec![bulk("BUSY"), bulk("7"), Value::Int(100), Value::Int(1)]);
        let granted = Value::Array(vec![bulk("GRANTED"), bulk("7"), bulk("55")]);
        for (list, text) in [(busy, "BUSY 7 100 1"), (granted, "GRANTED 7 55")] {
            for reply in [list, bulk(text)] {
                assert!(answers(&reply, "7").is_ok() && answers(&reply, "77").is_err());
                let decoded = match Reply::new(reply).acquired().expect("an answer") {
                    Acquired::Busy { remaining, in_line } => format!("{remaining:?} {in_line}"),
                    Acquired::Granted(token) => token.expect("a token").to_string(),
                    other => panic!("{other:?}"),
                };
                let expected = if text.starts_with("BUSY") { "Some(100ms) true" } else { "55" };
                assert_eq!(decoded, expected);
            }
        }
    }

    #[test]
    fn several_locks_are_granted_only_with_a_token_for_each() {
        let granted = |tokens: &[&str]| {
            let words = ["GRANTED", "7"].iter().chain(tokens).map(|word| bulk(word));
            Reply::new(Value::Array(words.collect())).acquired_all(2)
        };
        assert!(
            matches!(granted(&["5", "6"]), Ok(AcquiredAll::Granted(tokens)) if tokens.len() == 2)
        );
        assert!(granted(&["5"]).is_err() && granted(&["5", "6", "7"]).is_err());
        let three = ["GRANTED", "7", "5", "6", "8"].map(bulk);
        let three = Reply::new(Value::Array(three.into())).acquired_all(3);
        assert!(matches!(three, Ok(AcquiredAll::Granted(tokens)) if tokens.len() == 3));
        assert!(Reply::new(bulk("GRANTED 7 5 6")).acquired_all(2).is_err(), "it is a list");
    }

    #[test]
    fn numbers_of_a_server_have_a_bound() {
        let granted = |token: &str| Reply::new(bulk(&format!("GRANTED 7 {token}"))).acquired();
        assert!(matches!(granted("4503599627370496"), Ok(Acquired::Granted(Some(_)))));
        assert!(matches!(granted(""), Ok(Acquired::Granted(None))), "it is no token");
        for token in ["4503599627370497", "18446744073709551615", "99999999999999999999", "-1", "x"]
        {
            let refused = granted(token).expect_err("out of bounds").to_string();
            assert!(refused.contains(token) && refused.contains("lock_token"), "{refused}");
        }
        let busy = Reply::new(bulk("BUSY 7 9223372036854775807 1")).acquired();
        let Ok(Acquired::Busy { remaining: Some(remaining), .. }) = busy else { panic!("busy") };
        assert_eq!(remaining, MOST_SPAN);
        let long = Reply::new(bulk(&"x".repeat(10_000))).acquired().expect_err("no answer");
        assert!(long.to_string().len() < 300);
    }

    #[test]
    fn of_several_releases_each_has_its_outcome() {
        let of = |text: &str| released_together(&bulk(text), 3);
        let freed = Some((Released::Freed, 0));
        assert_eq!(of("DONE 7"), [freed; 3]);
        assert_eq!(of("DONE 7 2:LEFT 3:FREED:4"), [freed, None, Some((Released::Freed, 4))]);
        let others = [Some((Released::StillHeld, 0)), Some((Released::Gone, 1)), freed];
        assert_eq!(of("DONE 7 1:RELEASED 2:GONE:1"), others);
        // Whatever is not understood is left to the full script.
        assert_eq!(of("DONE 7 1:FREED:x 2:OTHER 9:LEFT x:LEFT"), [None, None, freed]);
        assert_eq!(released_together(&Value::Okay, 2), [None; 2]);
        assert_eq!(after_retry(Released::Gone, true), Released::StillHeld);
        assert_eq!(after_retry(Released::Gone, false), Released::Gone);
    }

    #[test]
    fn what_is_not_understood_is_shown() {
        let strange = Reply::new(bulk("INVALID 7")).acquired().expect_err("no answer");
        assert!(strange.to_string().contains("\"INVALID 7\""), "{strange}");
    }

    #[test]
    fn other_replies_than_those_of_a_script_are_errors() {
        let of = |text: &str| Reply::new(bulk(text));
        assert!(of("LEFT 7").left().is_ok());
        assert!(of("GONE 7").left().is_err());
        assert!(of("WRONG_KIND 7").upgraded().expect_err("no lock").to_string().contains("token"));
        assert!(of("GRANTED 7").upgraded().is_err(), "without a token");
        assert_eq!(of("WRONG_KIND 7").free_permits(5).expect("an answer"), None);
        assert!(of("RESIZED 7").free_permits(5).is_err(), "without a number");
        let list = Value::Array(vec![bulk("RESIZED"), bulk("7"), Value::Int(3)]);
        assert_eq!(Reply::new(list).free_permits(5).expect("an answer"), Some(3));
        assert!(of("BUSY 7").released().is_err());
        assert!(of("GRANTED 7 5").is_grant() && !of("BUSY 7 5 1").is_grant());
    }

    #[test]
    fn one_of_several_locks_is_refused_by_its_number() {
        let refused = |at, own: &[Value]| {
            let head = [bulk("REFUSED"), bulk("7"), Value::Int(at)];
            Reply::new(Value::Array([&head, own].concat())).acquired_all(3)
        };
        let busy = [bulk("BUSY"), bulk("7"), Value::Int(100), Value::Int(0)];
        for own in [busy.as_slice(), &[bulk("BUSY 7 100 0")]] {
            let answer = refused(2, own).expect("an answer");
            assert!(
                matches!(answer, AcquiredAll::Refused { at: 1, answer: Acquired::Busy { .. } }),
                "{answer:?}"
            );
            assert!(refused(0, own).is_err(), "locks are counted from 1");
            assert!(refused(4, own).is_err(), "of three locks");
        }
    }

    #[test]
    fn only_a_semaphore_has_permits_and_the_holders_of_one_hold_it_alone() {
        let state = |kind: &str, holders: Vec<Value>| {
            let number = Value::Int;
            let parts = [
                vec![bulk("STATE"), bulk("7"), bulk(kind), bulk(""), number(100), number(4)],
                vec![bulk("55"), number(1), Value::Array(holders), Value::Array(Vec::new())],
            ];
            let snapshot = Reply::new(Value::Array(parts.concat())).snapshot();
            snapshot.expect("an answer").expect("a snapshot")
        };
        let holder = || Value::Array(vec![bulk("o"), Value::Int(0), Value::Int(1), Value::Int(50)]);
        let semaphore = state("semaphore", vec![holder()]);
        assert_eq!((semaphore.free_permits, semaphore.mode), (Some(4), Some(Mode::Write)));
        assert_eq!(state("semaphore", Vec::new()).mode, None);
        let other = state("reentrant", vec![holder()]);
        assert_eq!((other.free_permits, other.mode), (None, None));
    }
}
