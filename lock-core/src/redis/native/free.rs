//! The plain try at a free lock: `SET NX PX`, tokens drawn by `INCRBY`, and the value read back.
//!
//! A try that is refused, or whose outcome is unknown, is followed by the script, which finds the owner in the
//! value.

use std::{
    borrow::Cow,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use lock_store::{AcquireCommand, FencingToken, Unavailable, runtime::Mutex};
use redis::Value;
use tokio::time::Instant;

use super::encode::NativeWire;
use crate::redis::{
    connection::Connection,
    protocol::{Decimal, MOST_TOKEN},
};

/// How the value of a lock begins, and how it begins once waiters have written their line behind the
/// holder: see `lib/value`.
const MARK: &[u8] = b"lt1";
const MARK_WITH_LINE: &[u8] = b"lt2";

/// Sent and compared in parts: each lock that is acquired needs it three times, without an
/// allocation.
pub(crate) struct FreeValue<'a> {
    pub(super) kind: &'static str,
    pub(super) mode: &'static str,
    pub(super) owner: Cow<'a, str>,
    /// The end of the owner, behind a colon.
    pub(super) number: Option<Decimal>,
}

impl FreeValue<'_> {
    #[inline]
    pub(crate) fn parts(&self) -> [&[u8]; 6] {
        let (colon, number): (&[u8], &[u8]) = match &self.number {
            Some(number) => (b":", number.as_ref()),
            None => (b"", b""),
        };
        let (kind, mode, owner) = (self.kind, self.mode, &*self.owner);
        [MARK, kind.as_bytes(), mode.as_bytes(), owner.as_bytes(), colon, number]
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.parts().concat()).unwrap_or_default()
    }

    /// Whether a lock has this value, with or without the text that a waiter writes behind it.
    #[inline]
    pub(crate) fn is_in(&self, value: &[u8]) -> bool {
        let [mark, parts @ ..] = self.parts();
        let rest = value.strip_prefix(mark).or_else(|| value.strip_prefix(MARK_WITH_LINE));
        let rest = rest.and_then(|rest| {
            parts.into_iter().try_fold(rest, |rest, part| rest.strip_prefix(part))
        });
        rest.is_some_and(|rest| matches!(rest, [] | [b' ', ..]))
    }
}

/// How long the client relies on a counter that a script has raised to Redis' clock. After that a
/// script reads the clock again.
const RAISED_FOR: Duration = Duration::from_secs(1);

/// One counter: of a server, or of a slot of a cluster.
#[derive(Debug, Default)]
pub(crate) struct TokenCounter {
    /// The greatest token that is known.
    known: AtomicU64,
    /// The connection over which a script has raised it to Redis' clock, and when that was sent.
    raised: Mutex<Option<(Weak<Connection>, Instant)>>,
}

impl TokenCounter {
    /// The greatest token that is known.
    pub(crate) fn known(&self) -> u64 {
        self.known.load(Ordering::Acquire)
    }

    /// A token was granted, with `more` tokens in reserve after it.
    pub(crate) fn granted(&self, token: FencingToken, more: u32) {
        let last = token.get().saturating_add(u64::from(more));
        // Replies of several tasks arrive in any order: an older one must not lower the greatest
        // token, or a counter that was lost would go unnoticed.
        self.known.fetch_max(last, Ordering::AcqRel);
    }

    pub(crate) fn raised(&self, connection: &Arc<Connection>, sent: Instant) {
        // A weak handle keeps the allocation: no later connection can have the same address and be
        // taken for this one.
        *self.raised.lock() = Some((Arc::downgrade(connection), sent));
    }

    /// Whether INCRBY over this connection gives tokens that exceed all earlier ones. A new
    /// connection may lead to another server, whose counter lacks the last tokens. A script that
    /// reads the clock goes first there.
    pub(crate) fn may_increment(&self, connection: &Arc<Connection>) -> bool {
        let raised = self.raised.lock();
        raised.as_ref().is_some_and(|(over, sent)| {
            std::ptr::eq(over.as_ptr(), Arc::as_ptr(connection)) && sent.elapsed() < RAISED_FOR
        })
    }
}

/// The outcome of a try at a free lock.
#[derive(Debug, Clone)]
pub(crate) enum Tried {
    Granted(FencingToken),
    /// Nothing was acquired: the key is there.
    Refused,
    /// A script must find out: the try may not have been sent, or its token may not be used.
    Unknown,
    Failed(Unavailable),
}

/// Reports the outcome of each SET; `None` if the replies belong to other commands.
///
/// A grant counts only if the lock still had its value after its token was drawn. If an operator
/// took the lock away between the two, the token would be greater than the operator's. Writes of
/// the former holder would then be accepted.
pub(super) fn report_tried(
    wire: &NativeWire,
    answers: &[Value],
    slot: u16,
    commands: &[&AcquireCommand],
    (known, total): (u64, u64),
    mut report: impl FnMut(usize, Tried),
) -> Option<()> {
    let [sets @ .., last, after] = answers else { return None };
    if sets.len() != commands.len() {
        return None;
    }
    let after = match after {
        Value::Array(after) if after.len() == sets.len() => after.as_slice(),
        Value::BulkString(_) | Value::Nil if sets.len() == 1 => std::slice::from_ref(after),
        // The values could not be read, as in a slot that has moved: no grant of this batch is
        // certain.
        Value::ServerError(_) => &[],
        _ => return None,
    };
    // The counter was not incremented, or it is behind the token that this process knew when it
    // sent the command: it was lost. No token of this batch is used; the scripts raise the counter.
    let last = match last {
        Value::Int(last) => {
            let last = u64::try_from(*last).ok();
            last.filter(|last| (known.saturating_add(total)..=MOST_TOKEN).contains(last))
        }
        Value::ServerError(_) => None,
        _ => return None,
    };
    let mut next = last.map(|last| last - total);
    let counter = wire.counter(slot);
    for (at, (set, command)) in sets.iter().zip(commands).enumerate() {
        let outcome = match (set, &mut next) {
            (Value::Nil, _) => Tried::Refused,
            (Value::Okay, Some(before)) => {
                // The tokens of refused tries are never used: they are only gaps. Those in reserve
                // follow the grant's own, so that a local hand-off gets a greater token than its
                // predecessor.
                let token = FencingToken::new(*before + 1);
                *before += 1 + u64::from(command.reserved_tokens);
                counter.granted(token, command.reserved_tokens);
                let value = wire.free_value(command);
                match after.get(at) {
                    Some(Value::BulkString(now)) if value.is_in(now) => Tried::Granted(token),
                    _ => Tried::Unknown,
                }
            }
            _ => Tried::Unknown,
        };
        report(at, outcome);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use lock_store::{ClientId, Holder, Kind, LockKey, Mode, Owners};

    use super::*;
    use crate::redis::connect::fake_server::FakeServer;

    #[test]
    fn a_value_is_found_alone_or_before_what_a_waiter_writes() {
        let owner = Cow::Borrowed("u");
        let value = FreeValue { kind: "e", mode: "w", owner, number: Some(Decimal::of(10)) };
        assert_eq!(value.text(), "lt1ewu:10");
        assert!(value.is_in(b"lt1ewu:10") && value.is_in(b"lt1ewu:10 170 ..."));
        assert!(value.is_in(b"lt2ewu:10 0 1 170|w:v:1 170"));
        for other in [&b"lt1ewu:1"[..], b"lt3ewu:10", b"lt1ewu:100", b"lt1eru:10", b"", b"x"] {
            assert!(!value.is_in(other), "{}", other.escape_ascii());
        }
    }

    #[test]
    fn the_greatest_token_is_known_with_those_in_reserve() {
        let counter = TokenCounter::default();
        assert_eq!(counter.known(), 0);
        counter.granted(FencingToken::new(5), 2);
        assert_eq!(counter.known(), 7);
        counter.granted(FencingToken::new(3), 0);
        assert_eq!(counter.known(), 7, "a late answer");
    }

    #[tokio::test]
    async fn tokens_are_drawn_without_a_look_at_the_clock_over_the_same_connection_alone() {
        let fake = FakeServer::start(|_| None).await;
        let open = async || Arc::new(Connection::open(&fake.server()).await.expect("a connection"));
        let (first, second) = (open().await, open().await);
        let counter = TokenCounter::default();
        assert!(!counter.may_increment(&first));
        counter.raised(&first, Instant::now());
        assert!(counter.may_increment(&first));
        assert!(!counter.may_increment(&second), "another server may be behind it");
        counter.raised(&first, Instant::now() - RAISED_FOR);
        assert!(!counter.may_increment(&first), "the clock has gone on");
    }

    /// Tries at locks, each with `reserved` tokens, and the values that they write.
    struct Tries {
        wire: NativeWire,
        commands: Vec<AcquireCommand>,
    }

    impl Tries {
        fn new(reserved: &[u32]) -> Self {
            let client = ClientId::random();
            let (owners, key) =
                (Owners::new(client.clone()), LockKey::try_from("k").expect("a key"));
            let commands = reserved.iter().map(|reserved_tokens| {
                let holder = Holder::new(Kind::Reentrant, key.clone(), owners.next());
                let mut command = AcquireCommand::new(holder, Mode::Write, Duration::from_secs(1));
                command.reserved_tokens = *reserved_tokens;
                command
            });
            let commands = commands.collect();
            Self { wire: NativeWire::new(String::new(), &client, false, false), commands }
        }

        fn value(&self, at: usize) -> Value {
            Value::BulkString(self.wire.free_value(&self.commands[at]).text().into())
        }

        /// The token of each grant, `None` where a script must find out.
        fn report(&self, answers: &[Value], known: u64) -> Option<Vec<Option<u64>>> {
            let commands: Vec<_> = self.commands.iter().collect();
            let total = commands.iter().map(|one| 1 + u64::from(one.reserved_tokens)).sum();
            let mut tokens = vec![None; commands.len()];
            report_tried(&self.wire, answers, 0, &commands, (known, total), |at, tried| {
                tokens[at] = match tried {
                    Tried::Granted(token) => Some(token.get()),
                    Tried::Refused => Some(0),
                    Tried::Unknown => None,
                    Tried::Failed(why) => panic!("{why}"),
                };
            })?;
            Some(tokens)
        }
    }

    fn server_error() -> Value {
        redis::parse_redis_value(b"-ERR no\r\n").expect("a reply")
    }

    #[test]
    fn each_grant_has_a_token_of_its_own_behind_what_is_in_reserve() {
        let tries = Tries::new(&[2, 0, 1]);
        let after = Value::Array((0..3).map(|at| tries.value(at)).collect());
        let answers = [Value::Okay, Value::Okay, Value::Okay, Value::Int(106), after];
        assert_eq!(tries.report(&answers, 100), Some(vec![Some(101), Some(104), Some(105)]));
        assert_eq!(tries.wire.counter(0).known(), 106);
        assert_eq!(tries.report(&answers, 101), Some(vec![None; 3]), "the counter was set back");
    }

    #[test]
    fn a_refused_try_has_no_token() {
        let tries = Tries::new(&[2, 0]);
        let after = Value::Array(vec![Value::BulkString(b"other".into()), tries.value(1)]);
        let answers = [Value::Nil, Value::Okay, Value::Int(104), after];
        assert_eq!(tries.report(&answers, 100), Some(vec![Some(0), Some(101)]));
    }

    #[test]
    fn a_lock_that_was_taken_away_before_its_token_is_not_granted() {
        let tries = Tries::new(&[0]);
        for now in [Value::Nil, Value::BulkString(b"other".into()), server_error()] {
            let answers = [Value::Okay, Value::Int(1), now];
            assert_eq!(tries.report(&answers, 0), Some(vec![None]), "{answers:?}");
        }
        let answers = [Value::Okay, Value::Int(1), tries.value(0)];
        assert_eq!(tries.report(&answers, 0), Some(vec![Some(1)]));
        let answers = [Value::Okay, server_error(), tries.value(0)];
        assert_eq!(tries.report(&answers, 0), Some(vec![None]), "INCRBY failed");
        let answers = [Value::Okay, Value::Int(i64::MAX), tries.value(0)];
        assert_eq!(tries.report(&answers, 0), Some(vec![None]), "such a token is not believed");
        assert_eq!(tries.wire.counter(0).known(), 1);
    }

    #[test]
    fn answers_to_another_question_are_found() {
        let tries = Tries::new(&[0, 0]);
        let (first, second) = (tries.value(0), tries.value(1));
        let both = Value::Array(vec![first.clone(), second.clone()]);
        for answers in [
            vec![],
            vec![Value::Okay, Value::Int(2), both.clone()],
            vec![Value::Okay, Value::Okay, Value::Int(2), Value::Array(vec![first.clone()])],
            vec![Value::Okay, Value::Okay, Value::Int(2), first],
            vec![Value::Okay, Value::Okay, Value::Okay, both],
        ] {
            assert_eq!(tries.report(&answers, 0), None, "{answers:?}");
        }
    }
}
