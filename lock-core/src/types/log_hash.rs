//! Hashes of keys for logs: they show which requests lock the same key, but not which key it is.

use std::sync::{Arc, OnceLock};

use hmac_sha256::HMAC;

use super::TicketKey;

/// Hashed before the text, so that a hash is never a signature made with the same key.
const DOMAIN: &[u8] = b"lock-tower hash in a log 1\0";

/// A keyed hash. Clients with the same `ticket_key` have the same one; all clients of a process
/// without a usable `ticket_key` share one that is random.
pub(crate) struct LogHash(Arc<[u8]>);

impl LogHash {
    pub(crate) fn of(ticket_key: Option<&TicketKey>) -> Self {
        static RANDOM: OnceLock<[u8; 32]> = OnceLock::new();
        let random = || {
            let mut bytes = [0; 32];
            getrandom::fill(&mut bytes).expect("BUG: the operating system has no random numbers");
            bytes
        };
        Self(match ticket_key {
            Some(key) if key.check().is_ok() => key.bytes().into(),
            _ => RANDOM.get_or_init(random).as_slice().into(),
        })
    }

    /// Returns the first 64 bits of the hash, in hexadecimal digits.
    pub(crate) fn hex(&self, text: &str) -> String {
        let hash = HMAC::mac([DOMAIN, text.as_bytes()].concat(), &self.0);
        hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{LogHash, TicketKey};

    #[test]
    fn the_same_key_gives_the_same_hash() {
        let [one, same, other] = [b'a', b'a', b'b'].map(|byte| TicketKey::new(&[byte; 32]));
        let hash = |key| LogHash::of(Some(key)).hex("order:7");
        assert_eq!(hash(&one), hash(&same));
        assert_ne!(hash(&one), hash(&other));
        assert_ne!(hash(&one), LogHash::of(Some(&one)).hex("order:8"));
        assert_eq!(LogHash::of(None).hex("order:7"), LogHash::of(None).hex("order:7"));
        // One that could be guessed is not used.
        let short = TicketKey::new(b"short");
        assert_eq!(LogHash::of(Some(&short)).hex("order:7"), LogHash::of(None).hex("order:7"));
    }
}
