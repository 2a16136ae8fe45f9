//! What a script may say.

use super::{
    names::Wire,
    op::{NONCE, Op},
};
use crate::redis::Reply;

/// One place of a reply.
enum Part {
    /// A whole number.
    Number,
    /// A fencing token, or nothing where there is none.
    Token,
}

/// Whether a reply is one that the script's header knows, and no refusal of the arguments.
pub(crate) fn is_well_formed(wire: Wire, op: Op, reply: &Reply) -> bool {
    match op {
        Op::TryFree { .. } => return *reply == Reply::Nil || reply.text() == Some("OK"),
        Op::DrawToken => return reply.int().is_some(),
        Op::ReadValue => return true,
        _ => {}
    }
    let parts = reply.parts();
    let [status, nonce, rest @ ..] = parts else { return false };
    let expected: &[Part] = match (op, status.text()) {
        (Op::Acquire { .. } | Op::Upgrade { .. }, Some("GRANTED")) => &[Part::Token],
        (Op::Acquire { .. }, Some("BUSY" | "YIELD")) => &[Part::Number, Part::Number],
        (Op::Upgrade { .. }, Some("BUSY")) if wire == Wire::Native => &[],
        (Op::Upgrade { .. }, Some("BUSY")) | (Op::Renew { .. }, Some("RENEWED")) => &[Part::Number],
        (Op::Acquire { .. } | Op::Upgrade { .. } | Op::Downgrade { .. }, Some("LOST"))
        | (Op::Release { .. }, Some("FREED" | "RELEASED" | "GONE"))
        | (Op::Leave { .. }, Some("LEFT"))
        | (Op::Downgrade { .. }, Some("RELEASED")) => &[],
        _ => return false,
    };
    nonce.text() == Some(NONCE)
        && rest.len() == expected.len()
        && rest.iter().zip(expected).all(|(part, expected)| match expected {
            Part::Number => part.int().is_some(),
            Part::Token => token(part).is_some(),
        })
}

/// The token of a grant: 0 for none.
pub(crate) fn token(part: &Reply) -> Option<i64> {
    match part {
        Reply::Bulk(text) if text.is_empty() => Some(0),
        Reply::Bulk(text) if text.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(text).ok()?.parse().ok()
        }
        _ => None,
    }
}
