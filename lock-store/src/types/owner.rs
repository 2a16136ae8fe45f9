//! The holder of a lock, as Redis stores it: `<client uuid>:<decimal>`, the shape that Redisson writes.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// One client's identity: a random UUID, drawn once per client. Its version is 8 (vendor-defined);
/// Redisson's UUIDs have version 4, which distinguishes its holds from ours in Redis.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(Arc<str>);

/// Not shown: code that knows it could release the client's locks.
impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientId(..)")
    }
}

impl ClientId {
    #[doc(hidden)]
    pub fn random() -> Self {
        let mut bytes = random();
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex = hex(bytes);
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Self(parts.join("-").into())
    }

    /// One that is known by name, for tests of the requests to a server.
    #[doc(hidden)]
    #[cfg(feature = "test-util")]
    pub fn of_name(name: &str) -> Self {
        Self(name.into())
    }

    #[doc(hidden)]
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn random() -> [u8; 16] {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("BUG: the operating system has no random numbers");
    bytes
}

fn hex(bytes: [u8; 16]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number of a client as a whole, and how it is displayed.
const WHOLE: u64 = u64::MAX;
const WHOLE_TEXT: &str = "all";

/// The owner of one hold, as a [store](crate::LockStore) knows it: fresh for every outermost
/// acquisition and never used again, so a late release of an old hold can touch nothing that came
/// after it.
///
/// Displayed it is `<client uuid>:<decimal>`, or of a semaphore's permit 32 hexadecimal digits.
// There is one for each lock that is held: its text is made when a command is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OwnerId(Name);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Name {
    /// `<client>:<number>`; without a number it is 0.
    Numbered(ClientId, u64),
    /// A semaphore's permit: 32 hexadecimal digits, as Redisson's.
    Permit([u8; 16]),
}

impl OwnerId {
    /// Returns the client in it, which all owners of one client have in common; a permit has none.
    #[must_use]
    #[inline]
    pub fn client(&self) -> Option<&str> {
        match &self.0 {
            Name::Numbered(client, _) => Some(client.as_str()),
            Name::Permit(_) => None,
        }
    }

    /// How [`Owners::whole`] of a client is displayed.
    #[doc(hidden)]
    pub fn text_of_whole(client: &str) -> String {
        format!("{client}:{WHOLE_TEXT}")
    }

    /// The owner that is displayed as `<client>:<number>`.
    #[doc(hidden)]
    pub fn parse(text: &str) -> Option<Self> {
        let (client, number) = text.rsplit_once(':')?;
        let number = number.parse().ok().filter(|number| *number > 0)?;
        Some(Self(Name::Numbered(ClientId(client.into()), number)))
    }

    /// The client and the number, if that is how it is displayed.
    #[doc(hidden)]
    #[inline]
    pub fn numbered(&self) -> Option<(&str, u64)> {
        match &self.0 {
            Name::Numbered(client, number) if *number > 0 => Some((client.as_str(), *number)),
            _ => None,
        }
    }

    /// The bytes of a permit.
    #[doc(hidden)]
    #[inline]
    pub fn permit_bytes(&self) -> Option<&[u8; 16]> {
        match &self.0 {
            Name::Numbered(..) => None,
            Name::Permit(permit) => Some(permit),
        }
    }

    #[doc(hidden)]
    pub fn permit() -> Self {
        Self(Name::Permit(random()))
    }

    /// An owner with a given name, for tests of the commands that a server receives.
    #[doc(hidden)]
    #[cfg(feature = "test-util")]
    pub fn of_name(name: &str) -> Self {
        let permit = u128::from_str_radix(name, 16).map(|permit| permit.to_be_bytes());
        let numbered = name.rsplit_once(':').and_then(|(client, number)| {
            Some(Name::Numbered(ClientId(client.into()), number.parse().ok()?))
        });
        let mut known = permit.ok().map(Name::Permit).into_iter().chain(numbered).map(Self);
        let known = known.find(|owner| owner.to_string() == name);
        known.unwrap_or_else(|| Self(Name::Numbered(ClientId(name.into()), 0)))
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Name::Numbered(ClientId(client), 0) => f.write_str(client),
            Name::Numbered(ClientId(client), WHOLE) => write!(f, "{client}:{WHOLE_TEXT}"),
            Name::Numbered(ClientId(client), number) => {
                f.write_str(client)?;
                f.write_str(":")?;
                number.fmt(f)
            }
            Name::Permit(permit) => write!(f, "{:032x}", u128::from_be_bytes(*permit)),
        }
    }
}

/// As its client's number.
impl fmt::Debug for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerId(..)")
    }
}

/// Hands out the owners of one client.
#[derive(Debug)]
pub struct Owners {
    client: ClientId,
    next: AtomicU64,
}

impl Owners {
    #[doc(hidden)]
    pub fn new(client: ClientId) -> Self {
        Self { client, next: AtomicU64::new(1) }
    }

    #[doc(hidden)]
    #[inline]
    pub fn client(&self) -> &ClientId {
        &self.client
    }

    /// The client as a whole, for its records: no acquisition has this number.
    #[doc(hidden)]
    pub fn whole(&self) -> OwnerId {
        OwnerId(Name::Numbered(self.client.clone(), WHOLE))
    }

    #[doc(hidden)]
    #[inline]
    pub fn next(&self) -> OwnerId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        OwnerId(Name::Numbered(self.client.clone(), number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_have_redissons_shape_and_never_repeat() {
        let owners = Owners::new(ClientId::random());
        let (first, second) = (owners.next(), owners.next());
        assert_ne!(first, second);
        let first = first.to_string();
        let (uuid, decimal) = first.rsplit_once(':').expect("a colon");
        assert_eq!(uuid, owners.client().as_str());
        assert_eq!(decimal, "1");
        let groups: Vec<_> = uuid.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12]);
        assert_eq!(&uuid[14..15], "8", "version 8");
        assert!("89ab".contains(&uuid[19..20]), "variant");
    }

    #[test]
    fn a_client_as_a_whole_has_no_number() {
        let owners = Owners::new(ClientId::random());
        let (whole, client) = (owners.whole().to_string(), owners.client().as_str());
        assert_eq!(whole, format!("{client}:all"));
        assert_eq!(whole, OwnerId::text_of_whole(client));
        assert_eq!(OwnerId::parse(&whole), None, "nothing can be released by it");
    }

    #[cfg(feature = "test-util")]
    #[test]
    fn an_owner_id_keeps_its_name() {
        let permit = "0123456789abcdef0123456789abcdef";
        for name in ["u:1", "u", "u:0", "u:v:7", "u:x", "", "0123456789abcdef", permit] {
            assert_eq!(OwnerId::of_name(name).to_string(), name);
        }
        assert_eq!(OwnerId::permit().to_string().len(), 32);
    }

    #[test]
    fn an_owner_is_no_larger_than_its_clients_name_and_a_number() {
        assert_eq!(size_of::<OwnerId>(), size_of::<(ClientId, u64)>());
    }
}
