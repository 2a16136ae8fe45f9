//! Decodes arbitrary input from a server, as it would be decoded when it arrives over a connection:
//! for tests that send random bytes.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::FutureExt;
use lock_store::LockKey;
use redis::{Parser, PushInfo, Value, parse_redis_value};

use crate::{
    redis::{
        cluster,
        connect::{Endpoint, RedisOptions, RedisUrl, Server},
        connection::{ConnectionId, MissingRights, client_name},
        discovery::Fixed,
        protocol::{Reply, ReplyReader, Wire, decode, slot_of},
        pubsub::{ChannelFilter, Channels, Subscriber},
        redisson::{LockNames, RedissonWire},
    },
    report::sum,
    types::{HotKey, WorkInfo},
};

/// The result of decoding a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenReply {
    /// It answers the request that carried the nonce.
    pub answers: bool,
    /// It grants, or counts as, a lock.
    pub grants: bool,
}

/// Decodes bytes as a reply to every command, as if it had carried `nonce`. `None`: they are not a
/// reply of a Redis server.
#[must_use]
pub fn reply(sent: &[u8], nonce: &str) -> Option<SeenReply> {
    let value = parse_redis_value(sent).ok()?;
    let answers = decode::answers(&value, nonce).is_ok();
    let _ = MissingRights::parse(&value, &*wire());
    let reply = Reply::new(value);
    let _ = (reply.released(), reply.renewed(), reply.downgraded(), reply.snapshot());
    let _ = (reply.forced(), reply.requested(), reply.free_permits(7), reply.permits_in_store());
    if let Ok(lock_store::AcquiredAll::Refused { at, .. }) = reply.acquired_all(1) {
        assert_eq!(at, 0, "the number of a lock that was not requested");
    }
    let granted = [
        reply.is_grant(),
        matches!(reply.acquired(), Ok(lock_store::Acquired::Granted(_))),
        matches!(reply.upgraded(), Ok(lock_store::Upgraded::Granted(_))),
        matches!(reply.acquired_all(1), Ok(lock_store::AcquiredAll::Granted(_))),
    ];
    Some(SeenReply { answers, grants: answers && granted.contains(&true) })
}

/// Reads replies from bytes that arrive in pieces of at most `size`, until they are refused.
/// Returns each as text, and whether the rest was refused.
///
/// # Panics
///
/// Panics if a reply is read otherwise than the redis crate reads it.
#[must_use]
pub fn stream(sent: &[u8], size: usize) -> (Vec<String>, bool) {
    let (mut reader, mut replies) = (ReplyReader::default(), Vec::new());
    let (mut same, mut bytes) = (Parser::new(), sent);
    for piece in sent.chunks(size.clamp(1, 1_024)) {
        reader.room()[..piece.len()].copy_from_slice(piece);
        reader.arrived(piece.len());
        loop {
            match reader.next() {
                Ok(Some(reply)) => {
                    let reply = format!("{reply:?}");
                    let expected = same.parse_value(&mut bytes).expect("a reply");
                    assert_eq!(reply, format!("{expected:?}"), "{}", sent.escape_ascii());
                    replies.push(reply);
                }
                Ok(None) => break,
                Err(_) => return (replies, true),
            }
        }
    }
    (replies, false)
}

/// Decodes bytes as a server's information about itself and others: a map of slots, a client's
/// name, a connection's identity, a redirection.
pub fn server_info(sent: &[u8]) {
    let here = Endpoint::Tcp("h".to_owned(), 1);
    if let Ok(text) = std::str::from_utf8(sent) {
        let _ = Endpoint::parse(text, &here).map(|endpoint| endpoint.to_string());
        let _ = ConnectionId::parse(text);
    }
    let Ok(value) = parse_redis_value(sent) else { return };
    let _ = client_name::parse(&value);
    let _ = cluster::is_map(&value, &here);
}

/// Decodes bytes as a push while one channel is subscribed; returns whether its waiter is woken.
#[must_use]
pub fn push(sent: &[u8], channel: &str) -> bool {
    let Ok(Value::Push { kind, data }) = parse_redis_value(sent) else { return false };
    let channels = Arc::<Channels>::default();
    let mut wakeups = channels.listen(channel.to_owned(), 0, None);
    wakeups.listen();
    let (login, options) = (redis::RedisConnectionInfo::default(), RedisOptions::default());
    let server = Server::new(Endpoint::Tcp("h".to_owned(), 1), &login, None, &options, &wire(), "");
    let subscriber =
        Subscriber::new(Box::new(Fixed(Arc::new(server))), ChannelFilter::All, channels);
    subscriber.on_push(&PushInfo { kind, data }, &mut [channel.to_owned()].into());
    wakeups.woken().now_or_never().is_some()
}

/// Returns the slots of all names of a lock, with and without a prefix.
#[must_use]
pub fn slots(prefix: &str, key: &LockKey) -> BTreeSet<u16> {
    let names = LockNames::new(prefix, key);
    let all = [
        names.lock.clone(),
        names.reads("u:1"),
        names.leases(),
        names.token(),
        names.waiters(),
        names.queue(),
        names.deadlines(),
        names.alive(),
        names.release_request(),
        names.channel(),
        names.lock_channel(),
        names.semaphore_channel(),
        LockNames::of_waiter(&names.turn(), "u:1"),
    ];
    all.iter().map(|name| slot_of(name.as_bytes())).collect()
}

/// Returns every printed form of a URL, whether it is usable or not.
#[must_use]
pub fn shown(url: &str) -> String {
    match RedisUrl::parse(url) {
        Ok(url) => {
            let places: Vec<String> = url.endpoints.iter().map(Endpoint::to_string).collect();
            places.join(", ")
        }
        Err(refused) => format!("{refused} {refused:?}"),
    }
}

fn wire() -> Arc<dyn Wire> {
    Arc::new(RedissonWire::new("lock:".to_owned(), false, false))
}

/// Reads a text as a store's record of the work under a lock, and returns the text that is written
/// for it again. `None`: it is not such a record.
#[must_use]
pub fn work_record(text: &str) -> Option<String> {
    WorkInfo::parse(text).map(WorkInfo::into_text)
}

/// Reads a text as the hot keys that another client has written down, adds them to themselves, and
/// returns how many there are.
#[must_use]
pub fn hot_keys(text: &str) -> usize {
    let all = HotKey::parse_all(text);
    sum([all.clone(), all].concat(), usize::MAX).len()
}
