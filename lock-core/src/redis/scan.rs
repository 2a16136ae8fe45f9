//! Lists the locks under a prefix with SCAN, which returns every key of a server in small steps.

use std::{collections::BTreeSet, time::Duration};

use lock_store::{KeyPage, LockKey, StoreError, Unavailable, Unsupported};
use redis::Value;

use super::{
    connection::{Failure, ManagedConnection},
    dispatcher::Topology,
    protocol::{Wire, reason},
    store::RedisStore,
};

/// The most keys that the server examines in one step, which takes a fraction of a millisecond.
const MAX_SCAN_COUNT: usize = 1_000;
/// The fewest keys that it examines in one step.
const MIN_SCAN_COUNT: usize = 100;
/// The most steps of one page: about fifty thousand keys.
const MAX_STEPS: usize = 50;

/// Where a page begins.
#[derive(Debug, Clone, Copy)]
struct PageStart<'a> {
    /// The cursor of SCAN.
    cursor: &'a str,
    /// The node of a cluster. Nodes are read in the order of their addresses, so that a page
    /// continues behind a node that has gone.
    address: &'a str,
}

impl<'a> PageStart<'a> {
    fn parse(after: &'a str) -> Result<Self, Unsupported> {
        let (cursor, address) = after.split_once('@').unwrap_or((after, ""));
        // Redis would refuse another text with an error that does not name the caller's mistake.
        match cursor.parse::<u64>() {
            Ok(_) => Ok(Self { cursor, address }),
            Err(_) => Err(Unsupported::new(
                "continuing a list from a cursor that this store did not return",
            )),
        }
    }
}

/// One page of a listing.
struct Page<'a> {
    wires: [&'a dyn Wire; 2],
    pattern: String,
    limit: usize,
    steps_left: usize,
    /// Grows, so that a page among few keys has about `limit` of them, and one among many is read in
    /// few steps.
    scan_count: usize,
    keys: BTreeSet<LockKey>,
}

impl Page<'_> {
    fn is_full(&self) -> bool {
        self.keys.len() >= self.limit || self.steps_left == 0
    }

    fn step(&mut self, cursor: &str) -> redis::Cmd {
        self.steps_left = self.steps_left.saturating_sub(1);
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(&self.pattern).arg("COUNT").arg(self.scan_count);
        self.scan_count = MAX_SCAN_COUNT.min(self.scan_count * 2);
        scan
    }

    /// Returns the cursor of the next step; "0" after the last one.
    fn take(&mut self, answer: &Value) -> Result<String, Unavailable> {
        let (cursor, names): (String, Vec<Vec<u8>>) = redis::from_redis_value_ref(answer)
            .map_err(|why| Unavailable::because("SCAN returned an unexpected reply", why))?;
        // A name that is not text does not belong to this library.
        let names = names.iter().filter_map(|name| std::str::from_utf8(name).ok());
        // A name that belongs to a lock, such as its line of waiters, is not a lock itself,
        // whichever wire wrote it.
        let [own, other] = self.wires;
        let keys = names.filter_map(|name| other.key_of(name).and_then(|_| own.key_of(name)));
        // SCAN may return a key more than once: the set shows it once.
        self.keys.extend(keys);
        Ok(cursor)
    }

    fn ends(self, next: Option<String>, complete: bool) -> KeyPage {
        KeyPage::new(self.keys.into_iter().collect(), next, complete)
    }
}

impl RedisStore {
    pub(crate) async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<KeyPage, StoreError> {
        let begin = PageStart::parse(after.unwrap_or("0"))?;
        let client_prefix = self.wire.prefix();
        let pattern = format!("{}*", literally(&format!("{client_prefix}{prefix}")));
        let wires = [&*self.wire, &*self.other_wire];
        let scan_count = limit.clamp(MIN_SCAN_COUNT, MAX_SCAN_COUNT);
        let (limit, steps_left, keys) = (limit.max(1), MAX_STEPS, BTreeSet::new());
        let mut page = Page { wires, pattern, limit, steps_left, scan_count, keys };
        let Topology::Cluster(cluster) = &self.dispatcher.topology else {
            let next = self.scan(None, begin.cursor, &mut page).await?;
            return Ok(page.ends(next, true));
        };
        let (connections, unassigned_slots) = cluster.connections();
        let mut nodes: Vec<_> = connections.iter().map(|node| (node.address(), node)).collect();
        nodes.sort_by(|one, other| one.0.cmp(&other.0));
        // Locks in slots without a node cannot be seen: the page says that it is incomplete.
        let (mut complete, mut next) = (unassigned_slots == 0, None);
        let (mut answered, mut failure) = (false, self.dispatcher.check(Duration::ZERO).err());
        for (address, node) in nodes.iter().filter(|node| node.0.as_str() >= begin.address) {
            if page.is_full() {
                next = Some(format!("0@{address}"));
                break;
            }
            let cursor = if address == begin.address { begin.cursor } else { "0" };
            match self.scan(Some(node), cursor, &mut page).await {
                Ok(cursor) => {
                    answered = true;
                    next = cursor.map(|cursor| format!("{cursor}@{address}"));
                    if next.is_some() {
                        break;
                    }
                }
                // A node that is down hides only its own locks. The operator needs those of the
                // others at that moment.
                Err(why) => (complete, failure) = (false, Some(why)),
            }
        }
        match failure {
            // No node has answered: an empty page would look as if no lock existed.
            Some(why) if !answered => Err(why.into()),
            _ => Ok(page.ends(next, complete)),
        }
    }

    /// Scans the keys of one server from `cursor` on, until the page is full; returns the cursor of the
    /// next page, `None` at the end.
    async fn scan(
        &self,
        managed: Option<&ManagedConnection>,
        cursor: &str,
        page: &mut Page<'_>,
    ) -> Result<Option<String>, Unavailable> {
        let mut cursor = cursor.to_owned();
        loop {
            let step = page.step(&cursor);
            let answer = match managed {
                Some(managed) => self.query_node(managed, &step).await?,
                None => self.command(0, &step).await?,
            };
            cursor = page.take(&answer)?;
            if cursor == "0" {
                return Ok(None);
            }
            if page.is_full() {
                return Ok(Some(cursor));
            }
        }
    }

    async fn query_node(
        &self,
        managed: &ManagedConnection,
        command: &redis::Cmd,
    ) -> Result<Value, Unavailable> {
        let limit = self.dispatcher.command_timeout;
        let query = async { managed.connected().await.1.query::<Value>(command).await };
        match tokio::time::timeout(limit, query).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Failure::ServerError(why))) => Err(Unavailable::because(reason(&why), why)),
            Ok(Err(Failure::ConnectionLost | Failure::Late)) | Err(_) => {
                let silent = format!("no answer from {} within {limit:?}", managed.address());
                Err(Unavailable::unsent(silent).silence())
            }
        }
    }
}

/// A pattern that matches this text and nothing else.
fn literally(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for each in text.chars() {
        if matches!(each, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(each);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IntoLockKey, redis::redisson::RedissonWire};

    fn key(number: usize) -> LockKey {
        number.to_string().into_lock_key().expect("a key")
    }

    #[test]
    fn a_page_ends_with_its_keys_or_its_steps() {
        let wire = RedissonWire::new(String::new(), false, false);
        let (wires, pattern) = ([&wire as &dyn Wire; 2], "x*".to_owned());
        let mut page = Page {
            wires,
            pattern,
            limit: 2,
            steps_left: 3,
            scan_count: 400,
            keys: BTreeSet::new(),
        };
        let counts = [400, 800, MAX_SCAN_COUNT].map(|count| {
            assert!(!page.is_full());
            let command = page.step("7").get_packed_command();
            let mut expected = redis::cmd("SCAN");
            expected.arg("7").arg("MATCH").arg("x*").arg("COUNT").arg(count);
            command == expected.get_packed_command()
        });
        assert_eq!(counts, [true; 3], "the count doubles up to its limit");
        assert!(page.is_full(), "no steps are left");
        page.steps_left = 1;
        page.keys.insert(key(1));
        assert!(!page.is_full());
        page.keys.insert(key(2));
        assert!(page.is_full(), "it has its keys");
    }

    #[test]
    fn only_what_was_returned_is_a_place_to_go_on() {
        let start = PageStart::parse("17@h:1").expect("a place");
        assert_eq!((start.cursor, start.address), ("17", "h:1"));
        assert_eq!(PageStart::parse("0").expect("a place").address, "");
        for after in ["", "x", "@h:1", "-1@h:1"] {
            PageStart::parse(after).expect_err(after);
        }
    }
}
