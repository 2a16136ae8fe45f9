//! Tickets of parked holds: signed, and enough for another client to continue with one.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac_sha256::HMAC;
use lock_key::MAX_KEY_BYTES;
use lock_store::{FencingToken, InvalidOptions, Kind, LockKey, Mode, OwnerId};

use super::InvalidTicket;

/// A shorter key could be guessed.
const MIN_TICKET_KEY: usize = 32;
/// Signed with the payload, so that a signature made for anything else with the same key is none here.
const DOMAIN: &[u8] = b"lock-tower hold ticket 1\0";
/// The bytes of a signature.
const SIGNATURE: usize = 32;
/// No ticket is longer: base64 of a signature, a key and the fields before it.
const MAX_TICKET_LEN: usize = (SIGNATURE + MAX_KEY_BYTES + 256) * 4 / 3;

/// A parked hold, for another client to [resume](crate::LockClient::resume): from
/// [`LockGuard::park`](crate::LockGuard::park).
///
/// It is a text of letters, digits, `-` and `_`, shorter than 2,000 bytes, for a queue, a database
/// or a header: [`Display`](fmt::Display) writes it, [`FromStr`] reads it. It is signed, not
/// encrypted: a reader of it learns the key of the lock. A client with the ticket, the same
/// [`ticket_key`](crate::LockClientBuilder::ticket_key) and the same store can take over the hold.
/// So treat a ticket as a password that is valid once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct HoldTicket(String);

/// Not shown: a client that has it can take over the hold.
impl fmt::Debug for HoldTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HoldTicket(..)")
    }
}

impl fmt::Display for HoldTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks the form alone; the signature is checked when it is resumed.
impl FromStr for HoldTicket {
    type Err = InvalidTicket;

    fn from_str(text: &str) -> Result<Self, InvalidTicket> {
        let of_ticket = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_one =
            !text.is_empty() && text.len() <= MAX_TICKET_LEN && text.bytes().all(of_ticket);
        if is_one { Ok(Self(text.to_owned())) } else { Err(InvalidTicket) }
    }
}

/// The key with which a service signs its tickets.
#[derive(Clone)]
pub(crate) struct TicketKey(Arc<[u8]>);

impl fmt::Debug for TicketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TicketKey(..)")
    }
}

/// The contents of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParkedHold {
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) key: LockKey,
    pub(crate) owner: OwnerId,
    pub(crate) token: FencingToken,
    /// For how long the store has it at most, from when it was parked.
    pub(crate) lasts: Duration,
}

impl TicketKey {
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(key.into())
    }

    pub(crate) fn check(&self) -> Result<(), InvalidOptions> {
        if self.0.len() >= MIN_TICKET_KEY {
            return Ok(());
        }
        Err(InvalidOptions::new(format!(
            "a ticket_key of {} bytes can be guessed: use at least {MIN_TICKET_KEY} random bytes",
            self.0.len()
        )))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn mac(&self, payload: &[u8]) -> HMAC {
        let mut mac = HMAC::new(&self.0);
        mac.update(DOMAIN);
        mac.update(payload);
        mac
    }

    pub(crate) fn sign(&self, hold: &ParkedHold) -> HoldTicket {
        let payload = hold.to_string();
        let signature = self.mac(payload.as_bytes()).finalize();
        HoldTicket(URL_SAFE_NO_PAD.encode([signature.as_slice(), payload.as_bytes()].concat()))
    }

    pub(crate) fn verify(&self, ticket: &HoldTicket) -> Result<ParkedHold, InvalidTicket> {
        let bytes = URL_SAFE_NO_PAD.decode(&ticket.0).map_err(|_| InvalidTicket)?;
        let (signature, payload) = bytes.split_first_chunk::<SIGNATURE>().ok_or(InvalidTicket)?;
        // In constant time: an answer that came sooner for a wrong first byte would let a signature be
        // found byte by byte.
        if !self.mac(payload).finalize_verify(signature) {
            return Err(InvalidTicket);
        }
        let payload = str::from_utf8(payload).map_err(|_| InvalidTicket)?;
        ParkedHold::parse(payload).ok_or(InvalidTicket)
    }
}

/// The fields with spaces between them; the key, which may have spaces itself, is the last.
impl fmt::Display for ParkedHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, mode, key, owner, token, lasts } = self;
        write!(f, "{kind} {mode} {} {} {owner} {key}", token.get(), lasts.as_millis())
    }
}

impl ParkedHold {
    fn parse(payload: &str) -> Option<Self> {
        let mut fields = payload.splitn(6, ' ');
        let mut next = || fields.next();
        Some(Self {
            kind: next()?.parse().ok()?,
            mode: match next()? {
                "read" => Mode::Read,
                "write" => Mode::Write,
                _ => return None,
            },
            token: FencingToken::new(next()?.parse().ok()?),
            lasts: Duration::from_millis(next()?.parse().ok()?),
            owner: OwnerId::parse(next()?)?,
            key: LockKey::try_from(next()?).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parked() -> ParkedHold {
        ParkedHold {
            kind: Kind::FairReadWrite,
            mode: Mode::Read,
            key: LockKey::try_from("orders of: Müller & Co").expect("a key"),
            owner: OwnerId::parse("c0ffee:42").expect("an owner"),
            token: FencingToken::new(9_007_199_254_740_991),
            lasts: Duration::from_millis(30_001),
        }
    }

    fn key(byte: u8) -> TicketKey {
        TicketKey::new(&[byte; 32])
    }

    #[test]
    fn a_ticket_has_all_of_its_hold() {
        let ticket = key(1).sign(&parked());
        let text = ticket.to_string();
        assert_eq!(text.parse(), Ok(ticket.clone()));
        assert_eq!(key(1).verify(&ticket), Ok(parked()));
        assert_eq!(format!("{ticket:?} {:?}", key(1)), "HoldTicket(..) TicketKey(..)");
    }

    /// A service is updated while tickets wait in a queue. The signature is an HMAC-SHA256 that was
    /// computed by Python's `hmac`.
    #[test]
    fn a_ticket_of_an_earlier_version_is_read() {
        let text = "I0Vp5Q853kAXY4njqwTUR7nNUiivA9h83uSUz7NFNBBmYWlyX3JlYWRfd3JpdGUgcmVhZCA5MDA3MTk5\
            MjU0NzQwOTkxIDMwMDAxIGMwZmZlZTo0MiBvcmRlcnMgb2Y6IE3DvGxsZXIgJiBDbw";
        assert_eq!(key(1).sign(&parked()).to_string(), text);
    }

    #[test]
    fn the_longest_ticket_is_read_again() {
        let longest = "k".repeat(MAX_KEY_BYTES);
        let hold = ParkedHold { key: LockKey::try_from(longest).expect("a key"), ..parked() };
        let ticket = key(1).sign(&hold);
        assert_eq!(ticket.to_string().parse().and_then(|read| key(1).verify(&read)), Ok(hold));
    }

    #[test]
    fn a_ticket_that_was_changed_in_any_place_is_refused() {
        let text = key(1).sign(&parked()).to_string();
        for at in 0..text.len() {
            for other in ["A", "b", "-"] {
                let mut changed = text.clone();
                changed.replace_range(at..=at, other);
                let read = changed.parse::<HoldTicket>().map(|ticket| key(1).verify(&ticket));
                // The last letter has bits that no byte needs: only one value of them is taken.
                assert!(changed == text || matches!(read, Ok(Err(InvalidTicket))), "{changed}");
            }
            let cut = text[..at].parse::<HoldTicket>().and_then(|ticket| key(1).verify(&ticket));
            assert_eq!(cut, Err(InvalidTicket), "cut at {at}");
        }
    }

    #[test]
    fn a_ticket_of_another_key_is_refused() {
        assert_eq!(key(2).verify(&key(1).sign(&parked())), Err(InvalidTicket));
    }

    #[test]
    fn text_that_is_no_ticket_is_refused() {
        for text in ["", " ", "a b", "ä", "a=", "a+/", &"a".repeat(MAX_TICKET_LEN + 1)] {
            assert_eq!(text.parse::<HoldTicket>(), Err(InvalidTicket), "{text:?}");
        }
        for text in ["a", "abcd", &"a".repeat(MAX_TICKET_LEN)] {
            let read = text.parse::<HoldTicket>().and_then(|ticket| key(1).verify(&ticket));
            assert_eq!(read, Err(InvalidTicket), "{text:?}");
        }
    }

    #[test]
    fn signed_text_that_is_no_hold_is_refused() {
        let valid = parked().to_string();
        let bad =
            ["", "fair", "fair write 1 1 a:1 ", "fair both 1 1 a:1 k", "other write 1 1 a:1 k"];
        let numbers = ["fair write -1 1 a:1 k", "fair write 1 x a:1 k", "fair write 1 1 a k"];
        for payload in bad.into_iter().chain(numbers).chain([&valid[1..]]) {
            let signature = key(1).mac(payload.as_bytes()).finalize();
            let bytes = [signature.as_slice(), payload.as_bytes()].concat();
            let read = key(1).verify(&HoldTicket(URL_SAFE_NO_PAD.encode(bytes)));
            assert_eq!(read, Err(InvalidTicket), "{payload:?}");
        }
    }

    #[test]
    fn a_short_key_is_refused() {
        assert!(TicketKey::new(&[7; 31]).check().is_err());
        assert!(TicketKey::new(&[7; 32]).check().is_ok());
    }
}
