//! Lists the locks under a prefix with SCAN, which returns every key of a server in small steps.

use std::{collections::BTreeSet, time::Duration};

use redis::Value;

use super::{
    connect::reason,
    connection::{Failure, ManagedConnection},
    dispatcher::Topology,
    protocol::Wire,
    store::RedisStore,
};
use crate::types::{KeyList, LockKey, Unavailable};

/// How many keys the server examines in one step, which takes a fraction of a millisecond.
const SCAN_COUNT: usize = 1_000;
/// The most steps in total: about a million keys.
const MAX_STEPS: usize = 1_000;

/// The progress of a listing.
struct Found<'a> {
    wires: [&'a dyn Wire; 2],
    pattern: String,
    limit: usize,
    steps_left: usize,
    keys: BTreeSet<LockKey>,
}

impl Found<'_> {
    fn is_over(&self) -> bool {
        self.keys.len() > self.limit || self.steps_left == 0
    }

    fn step(&mut self, cursor: &str) -> redis::Cmd {
        self.steps_left -= 1;
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(&self.pattern).arg("COUNT").arg(SCAN_COUNT);
        scan
    }

    /// Returns the cursor of the next step; "0" after the last one.
    fn take(&mut self, answer: &Value) -> Result<String, Unavailable> {
        let (cursor, names): (String, Vec<Vec<u8>>) = redis::from_redis_value_ref(answer)
            .map_err(|why| Unavailable::because("SCAN was answered strangely", why))?;
        // A name that is not text does not belong to this library.
        let names = names.iter().filter_map(|name| std::str::from_utf8(name).ok());
        // What belongs to a lock of either wire is none.
        let [own, other] = self.wires;
        let keys = names.filter_map(|name| other.key_of(name).and_then(|_| own.key_of(name)));
        self.keys.extend(keys);
        Ok(cursor)
    }

    fn listing(self, complete: bool) -> KeyList {
        let complete = complete && self.keys.len() <= self.limit;
        KeyList { keys: self.keys.into_iter().take(self.limit).collect(), complete }
    }
}

impl RedisStore {
    pub(crate) async fn list(&self, prefix: &str, limit: usize) -> Result<KeyList, Unavailable> {
        let client_prefix = self.wire.prefix();
        let pattern = format!("{}*", literally(&format!("{client_prefix}{prefix}")));
        let wires = [&*self.wire, &*self.other_wire];
        let (steps_left, keys) = (MAX_STEPS, BTreeSet::new());
        let mut found = Found { wires, pattern, limit, steps_left, keys };
        let Topology::Cluster(cluster) = &self.dispatcher.topology else {
            let complete = self.scan(None, &mut found).await?;
            return Ok(found.listing(complete));
        };
        let (connections, unassigned_slots) = cluster.connections();
        let mut complete = unassigned_slots == 0;
        let (mut answered, mut failure) = (false, self.dispatcher.check(Duration::ZERO).err());
        for managed in connections {
            match self.scan(Some(&managed), &mut found).await {
                Ok(all) => (complete, answered) = (complete && all, true),
                Err(why) => (complete, failure) = (false, Some(why)),
            }
        }
        match failure {
            Some(why) if !answered => Err(why),
            _ => Ok(found.listing(complete)),
        }
    }

    /// Scans the keys of one server; returns whether it reached their end.
    async fn scan(
        &self,
        managed: Option<&ManagedConnection>,
        found: &mut Found<'_>,
    ) -> Result<bool, Unavailable> {
        let mut cursor = "0".to_owned();
        while !found.is_over() {
            let step = found.step(&cursor);
            let answer = match managed {
                Some(managed) => self.query_node(managed, &step).await?,
                None => self.command(0, &step).await?,
            };
            cursor = found.take(&answer)?;
            if cursor == "0" {
                return Ok(true);
            }
        }
        Ok(false)
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
