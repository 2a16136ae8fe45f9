//! In debug builds, records which locks are acquired while which are held: two places that acquire
//! the same keys in opposite orders are reported before they deadlock.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    fmt,
};

use lock_store::{LockKey, runtime::Mutex};

use crate::types::CallSite;

/// How many orders are remembered; beyond that the oldest is removed.
const MAX_EDGES: usize = 10_000;
/// How many keys are searched for a cycle.
const FARTHEST: usize = 1_000;
/// How many pairs of places are kept for
/// [`LockClient::lock_order_inversions`](crate::LockClient::lock_order_inversions).
const MAX_INVERSIONS: usize = 1_000;

/// Places in the program that take locks in orders that contradict each other: from
/// [`LockClient::lock_order_inversions`](crate::LockClient::lock_order_inversions).
///
/// It displays as the places, without the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockOrderInversion {
    held: LockKey,
    requested: LockKey,
    nestings: Vec<Nesting>,
}

/// One place that takes a lock while it holds another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Nesting {
    asked_at: CallSite,
    held_at: CallSite,
}

impl LockOrderInversion {
    /// Returns the keys of the acquisition that closed the cycle: the held one, and the requested
    /// one.
    #[must_use]
    pub fn keys(&self) -> (&LockKey, &LockKey) {
        (&self.held, &self.requested)
    }

    /// Returns where the locks were acquired while others were held, such as `src/orders.rs:12:5`
    /// or the name of an attribute. The first is the place that closed the cycle. Two places, or
    /// more if several together contradict the order.
    #[must_use]
    pub fn call_sites(&self) -> Vec<String> {
        self.nestings.iter().map(|nesting| nesting.asked_at.to_string()).collect()
    }
}

impl fmt::Display for LockOrderInversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("locks are taken in opposite orders: ")?;
        for (at, Nesting { asked_at, held_at }) in self.nestings.iter().enumerate() {
            let then = if at == 0 { "" } else { "; " };
            write!(f, "{then}{asked_at} takes its lock while it holds that of {held_at}")?;
        }
        f.write_str(": take them in one order, or together as a multi-lock")
    }
}

/// The recorded orders: which keys were acquired while which were held.
#[derive(Debug, Default)]
pub(crate) struct LockOrder(Mutex<Nestings>);

#[derive(Debug, Default)]
struct Nestings {
    /// From each held key to the keys that were acquired under it.
    edges: HashMap<LockKey, HashMap<LockKey, Nesting>>,
    oldest: VecDeque<(LockKey, LockKey)>,
    reported: HashSet<BTreeSet<String>>,
    inversions: Vec<LockOrderInversion>,
}

impl LockOrder {
    /// Notes that `anew`, which are sorted by key, are acquired while `held` are held.
    pub(crate) fn note(&self, held: &[(LockKey, CallSite)], anew: &[(LockKey, CallSite)]) {
        let outer =
            held.iter().flat_map(|held| anew.iter().map(move |requested| (held, requested)));
        // Members are acquired one after another: everything that follows the next one follows this
        // one too.
        let members = anew.windows(2).map(|pair| (&pair[0], &pair[1]));
        let mut seen = self.0.lock();
        for (held, requested) in outer.chain(members) {
            seen.note(held, requested);
        }
    }

    pub(crate) fn inversions(&self) -> Vec<LockOrderInversion> {
        self.0.lock().inversions.clone()
    }
}

impl Nestings {
    fn note(&mut self, held: &(LockKey, CallSite), requested: &(LockKey, CallSite)) {
        let nesting = Nesting { asked_at: requested.1.clone(), held_at: held.1.clone() };
        let (held, requested) = (&held.0, &requested.0);
        if self.edges.get(held).is_some_and(|requested_then| requested_then.contains_key(requested))
        {
            return;
        }
        if let Some(way_back) = self.way(requested, held) {
            self.report(held, requested, &nesting, way_back);
        }
        if self.oldest.len() == MAX_EDGES {
            self.forget_oldest();
        }
        self.oldest.push_back((held.clone(), requested.clone()));
        self.edges.entry(held.clone()).or_default().insert(requested.clone(), nesting);
    }

    fn forget_oldest(&mut self) {
        let Some((held, requested)) = self.oldest.pop_front() else { return };
        if let Some(requested_then) = self.edges.get_mut(&held) {
            requested_then.remove(&requested);
            if requested_then.is_empty() {
                self.edges.remove(&held);
            }
        }
    }

    /// The nestings that lead from holding `from` to acquiring `to`.
    fn way(&self, from: &LockKey, to: &LockKey) -> Option<Vec<Nesting>> {
        let mut came_from: HashMap<&LockKey, (&LockKey, &Nesting)> = HashMap::new();
        let mut next = VecDeque::from([from]);
        while let Some(key) = next.pop_front() {
            for (requested, nesting) in self.edges.get(key).into_iter().flatten() {
                if requested == from || came_from.contains_key(requested) {
                    continue;
                }
                came_from.insert(requested, (key, nesting));
                if requested == to {
                    let steps =
                        std::iter::successors(came_from.get(to), |(key, _)| came_from.get(key));
                    return Some(steps.map(|(_, nesting)| (*nesting).clone()).collect());
                }
                if came_from.len() < FARTHEST {
                    next.push_back(requested);
                }
            }
        }
        None
    }

    fn report(
        &mut self,
        held: &LockKey,
        requested: &LockKey,
        here: &Nesting,
        way_back: Vec<Nesting>,
    ) {
        let mut nestings = vec![here.clone()];
        nestings.extend(way_back);
        nestings.dedup();
        let inversion =
            LockOrderInversion { held: held.clone(), requested: requested.clone(), nestings };
        if self.reported.len() < MAX_INVERSIONS
            && self.reported.insert(inversion.call_sites().into_iter().collect())
        {
            tracing::error!("{inversion}");
            self.inversions.push(inversion);
        }
    }
}
