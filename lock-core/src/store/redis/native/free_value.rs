//! The value of a lock that its owner alone holds once, without waiters.

use std::borrow::Cow;

use crate::store::redis::protocol::Decimal;

/// Sent and compared in its parts: each lock that is taken needs it three times, and no text is made.
pub(crate) struct FreeValue<'a> {
    pub(super) kind: &'static str,
    pub(super) mode: &'static str,
    pub(super) owner: Cow<'a, str>,
    /// The end of the owner, behind a colon.
    pub(super) number: Option<Decimal>,
}

impl FreeValue<'_> {
    pub(crate) fn parts(&self) -> [&[u8]; 6] {
        let (colon, number): (&[u8], &[u8]) = match &self.number {
            Some(number) => (b":", number.as_ref()),
            None => (b"", b""),
        };
        let (kind, mode, owner) = (self.kind, self.mode, &*self.owner);
        [b"lt1", kind.as_bytes(), mode.as_bytes(), owner.as_bytes(), colon, number]
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.parts().concat()).unwrap_or_default()
    }

    /// Whether a lock has this value, with or without what a waiter writes behind it.
    pub(crate) fn stands_in(&self, value: &[u8]) -> bool {
        let mut parts = self.parts().into_iter();
        let rest = parts.try_fold(value, |rest, part| rest.strip_prefix(part));
        rest.is_some_and(|rest| matches!(rest, [] | [b' ', ..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stands_alone_or_before_what_a_waiter_writes() {
        let owner = Cow::Borrowed("u");
        let value = FreeValue { kind: "e", mode: "w", owner, number: Some(Decimal::of(10)) };
        assert_eq!(value.text(), "lt1ewu:10");
        assert!(value.stands_in(b"lt1ewu:10") && value.stands_in(b"lt1ewu:10 170 ..."));
        for other in [&b"lt1ewu:1"[..], b"lt1ewu:100", b"lt1eru:10", b"", b"x"] {
            assert!(!value.stands_in(other), "{}", other.escape_ascii());
        }
    }
}
