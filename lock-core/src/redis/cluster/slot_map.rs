//! The slot map: which node owns which slot.

use std::collections::BTreeSet;

use redis::Value;
use thiserror::Error;

use crate::redis::{connect::Endpoint, protocol::SLOTS};

/// The most nodes of a cluster that the client connects to, as many as Redis recommends. Each gets
/// the password.
const MOST_NODES: usize = 1_000;

/// Why an answer is not used as a slot map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum NoMap {
    #[error("it has no slots yet")]
    Empty,
    #[error("its answer to CLUSTER SLOTS is not understood")]
    Malformed,
    #[error("its answer to CLUSTER SLOTS gives one slot to two nodes, or a slot beyond 16383")]
    Unsound,
    #[error("its answer to CLUSTER SLOTS names more than {} nodes", MOST_NODES)]
    TooManyNodes,
}

/// The slots of a cluster as one node reported them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SlotMap {
    /// Slots from the first to the second, with their primary; in order, without overlaps.
    ranges: Vec<(u16, u16, Endpoint)>,
    /// Other nodes that can be queried for the map.
    replicas: BTreeSet<Endpoint>,
}

impl SlotMap {
    /// Parses `CLUSTER SLOTS`: `[[first, last, [host, port, ...], replica...], ...]`.
    pub(crate) fn parse(
        answer: &Value,
        announced: impl Fn(&str, u16) -> Endpoint,
    ) -> Result<Self, NoMap> {
        let Value::Array(entries) = answer else {
            return Err(NoMap::Malformed);
        };
        let mut map = Self::default();
        for entry in entries {
            map.add(entry, &announced).ok_or(NoMap::Malformed)?;
        }
        map.ranges.sort();
        let all_in_order = map.ranges.iter().all(|(first, last, _)| first <= last && *last < SLOTS);
        // With two owners for a slot, two clients could acquire the same lock on different nodes.
        // Such a map is refused as a whole.
        if !all_in_order || map.ranges.windows(2).any(|pair| pair[0].1 >= pair[1].0) {
            return Err(NoMap::Unsound);
        }
        if map.all_endpoints().len() > MOST_NODES {
            return Err(NoMap::TooManyNodes);
        }
        if map.ranges.is_empty() { Err(NoMap::Empty) } else { Ok(map) }
    }

    fn add(&mut self, entry: &Value, announced: &impl Fn(&str, u16) -> Endpoint) -> Option<()> {
        let Value::Array(parts) = entry else { return None };
        let [Value::Int(first), Value::Int(last), primary, replicas @ ..] = parts.as_slice() else {
            return None;
        };
        let (first, last) = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
        self.ranges.push((first, last, node(primary, announced)?));
        self.replicas.extend(replicas.iter().filter_map(|replica| node(replica, announced)));
        Some(())
    }

    pub(crate) fn owner(&self, slot: u16) -> Option<&Endpoint> {
        let at = self.ranges.partition_point(|(first, ..)| *first <= slot).checked_sub(1)?;
        let (_, last, owner) = &self.ranges[at];
        (slot <= *last).then_some(owner)
    }

    /// The same map except for one slot; the same with it, if the owner is one node too many.
    pub(crate) fn with(&self, slot: u16, owner: Endpoint) -> Self {
        let all = self.all_endpoints();
        // Redirections are unverified input: a server that invents nodes could have the client open
        // connections, and send its password, without bound.
        if all.len() >= MOST_NODES && !all.contains(&owner) {
            return self.clone();
        }
        let mut ranges = Vec::with_capacity(self.ranges.len() + 2);
        for (first, last, known) in &self.ranges {
            if slot < *first || slot > *last {
                ranges.push((*first, *last, known.clone()));
                continue;
            }
            if *first < slot {
                ranges.push((*first, slot - 1, known.clone()));
            }
            if slot < *last {
                ranges.push((slot + 1, *last, known.clone()));
            }
        }
        ranges.push((slot, slot, owner));
        ranges.sort();
        Self { ranges, replicas: self.replicas.clone() }
    }

    pub(crate) fn primaries(&self) -> BTreeSet<Endpoint> {
        self.ranges.iter().map(|(.., owner)| owner.clone()).collect()
    }

    pub(crate) fn all_endpoints(&self) -> BTreeSet<Endpoint> {
        self.primaries().union(&self.replicas).cloned().collect()
    }

    /// The number of slots without an owner.
    pub(crate) fn unassigned_slots(&self) -> usize {
        let served: usize =
            self.ranges.iter().map(|(first, last, _)| usize::from(last - first) + 1).sum();
        usize::from(SLOTS).saturating_sub(served)
    }
}

/// Parses `[host, port, id, ...]`; a missing host is empty.
fn node(value: &Value, announced: &impl Fn(&str, u16) -> Endpoint) -> Option<Endpoint> {
    let Value::Array(parts) = value else {
        return None;
    };
    let host = match parts.first()? {
        Value::BulkString(host) => std::str::from_utf8(host).ok()?,
        _ => "",
    };
    match parts.get(1)? {
        Value::Int(port) => Some(announced(host, u16::try_from(*port).ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(port: u16) -> Endpoint {
        Endpoint::Tcp("h".to_owned(), port)
    }

    fn announced(host: &str, port: u16) -> Endpoint {
        Endpoint::announced(host, port, &endpoint(1))
    }

    fn response(ranges: &[(i64, i64, i64)]) -> Result<SlotMap, NoMap> {
        let entry = |(first, last, port): &(i64, i64, i64)| {
            let node = Value::Array(vec![Value::Nil, Value::Int(*port)]);
            Value::Array(vec![Value::Int(*first), Value::Int(*last), node])
        };
        SlotMap::parse(&Value::Array(ranges.iter().map(entry).collect()), announced)
    }

    #[test]
    fn each_slot_has_its_owner_and_gaps_have_none() {
        let map = response(&[(200, 300, 8), (0, 100, 7)]).expect("a map");
        assert_eq!(map.owner(0), Some(&endpoint(7)));
        assert_eq!(map.owner(100), Some(&endpoint(7)));
        assert_eq!(map.owner(101), None);
        assert_eq!(map.owner(250), Some(&endpoint(8)));
        assert_eq!(map.owner(301), None);
        assert_eq!(map.unassigned_slots(), 16_384 - 202);
    }

    #[test]
    fn no_more_nodes_are_connected_to_than_a_cluster_has() {
        let of = |nodes: i64| response(&(0..nodes).map(|at| (at, at, at + 1)).collect::<Vec<_>>());
        let map = of(1_000).expect("a map");
        assert_eq!(map.all_endpoints().len(), 1_000);
        assert_eq!(of(1_001), Err(NoMap::TooManyNodes));
        assert_eq!(map.with(5, endpoint(9_999)), map, "a node redirects to one more");
        assert_eq!(map.with(5, endpoint(8)).owner(5), Some(&endpoint(8)));
    }

    #[test]
    fn one_slot_changes_hands() {
        let map = response(&[(0, 16_383, 7)]).expect("a map");
        for slot in [0, 5, 16_383] {
            let changed = map.with(slot, endpoint(9));
            assert_eq!(changed.owner(slot), Some(&endpoint(9)));
            assert_eq!(changed.unassigned_slots(), 0);
            let others = (0..SLOTS).filter(|other| *other != slot);
            assert!(others.into_iter().all(|other| changed.owner(other) == Some(&endpoint(7))));
        }
    }

    #[test]
    fn only_the_range_of_the_slot_changes() {
        let map = response(&[(0, 9, 7), (10, 19, 8), (20, 29, 7)]).expect("a map");
        for slot in [10, 11, 19] {
            let changed = map.with(slot, endpoint(9));
            let expected = |other| {
                if other == slot { Some(endpoint(9)) } else { map.owner(other).cloned() }
            };
            for other in 0..40 {
                assert_eq!(changed.owner(other).cloned(), expected(other), "{other} for {slot}");
            }
        }
        let same = map.with(10, endpoint(8));
        assert_eq!(same.unassigned_slots(), map.unassigned_slots());
    }

    #[test]
    fn primaries_and_replicas_are_named_by_the_hosts_of_the_map() {
        let node =
            |host: &str, port| Value::Array(vec![Value::BulkString(host.into()), Value::Int(port)]);
        let entry = vec![Value::Int(0), Value::Int(5), node("a", 7), node("b", 8), node("", 9)];
        let answer = Value::Array(vec![Value::Array(entry)]);
        let map = SlotMap::parse(&answer, announced).expect("a map");
        let tcp = |host: &str, port| Endpoint::Tcp(host.to_owned(), port);
        assert_eq!(map.primaries(), BTreeSet::from([tcp("a", 7)]));
        assert_eq!(map.all_endpoints(), [tcp("a", 7), tcp("b", 8), tcp("h", 9)].into());
    }

    #[test]
    fn nonsense_is_no_map() {
        assert_eq!(response(&[]), Err(NoMap::Empty));
        assert_eq!(response(&[(5, 4, 7)]), Err(NoMap::Unsound));
        assert_eq!(response(&[(0, 16_384, 7)]), Err(NoMap::Unsound));
        assert_eq!(response(&[(0, 100, 7), (100, 200, 8)]), Err(NoMap::Unsound));
        assert_eq!(response(&[(-1, 100, 7)]), Err(NoMap::Malformed));
        assert_eq!(SlotMap::parse(&Value::Nil, announced), Err(NoMap::Malformed));
    }
}
