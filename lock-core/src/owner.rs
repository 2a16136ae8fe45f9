//! Who holds a lock, as Redis knows it: `<client uuid>:<decimal>`, the shape that Redisson writes.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// One client's identity: a random UUID, drawn once per client. Its version is 8 (a vendor's own),
/// where Redisson's are of version 4: that tells our holds from theirs in Redis.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct ClientId(Arc<str>);

/// Not to be seen: whoever knows it could release what the client holds.
impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientId(..)")
    }
}

impl ClientId {
    pub(crate) fn random() -> Self {
        let mut bytes = random();
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex = hex(bytes);
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Self(parts.join("-").into())
    }

    pub(crate) fn as_str(&self) -> &str {
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

/// The owner of one hold: fresh for every outermost acquisition and never used again, so a late
/// release of an old hold can touch nothing that came after it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct OwnerId(Arc<str>);

impl OwnerId {
    /// A semaphore's permit: 32 hexadecimal digits, as Redisson's.
    pub(crate) fn permit() -> Self {
        Self(hex(random()).into())
    }

    /// One that is known by name, for the tests of what is asked of a server.
    pub(crate) fn of_name(name: &str) -> Self {
        Self(name.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for OwnerId {
    fn borrow(&self) -> &str {
        &self.0
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
pub(crate) struct Owners {
    client: ClientId,
    next: AtomicU64,
}

impl Owners {
    pub(crate) fn new(client: ClientId) -> Self {
        Self { client, next: AtomicU64::new(1) }
    }

    pub(crate) fn client(&self) -> &ClientId {
        &self.client
    }

    pub(crate) fn next(&self) -> OwnerId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        OwnerId(format!("{}:{number}", self.client.as_str()).into())
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
        let (uuid, decimal) = first.as_str().rsplit_once(':').expect("a colon");
        assert_eq!(uuid, owners.client().as_str());
        assert_eq!(decimal, "1");
        let groups: Vec<_> = uuid.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12]);
        assert_eq!(&uuid[14..15], "8", "version 8");
        assert!("89ab".contains(&uuid[19..20]), "variant");
    }
}
