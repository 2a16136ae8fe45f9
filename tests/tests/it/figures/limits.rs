//! The most that each figure may be. A change that lowers a figure lowers its limit. A limit is raised
//! only by a commit whose reason is written here.

use super::Figure;

/// The most that a figure may be, and why it is that much.
pub(super) struct Limit {
    pub(super) figure: Figure,
    pub(super) most: f64,
    #[allow(dead_code, reason = "for the reader of this table")]
    reason: &'static str,
}

const fn limit(figure: Figure, most: f64, reason: &'static str) -> Limit {
    Limit { figure, most, reason }
}

/// Each is a ratio to the lock by hand, or to Tokio's mutex. A margin is what the counts of several runs
/// differ by: a request under the layer may execute some 250 instructions more, of 39,000.
pub(super) const LIMITS: [Limit; 13] = [
    limit(Figure::RequestInstructions, 1.88, "one key and one reply need no list, no map"),
    limit(Figure::RequestAllocations, 1.09, "the same"),
    limit(Figure::AttributeInstructions, 1.975, "first limit; a policy is made for each request"),
    limit(Figure::AttributeAllocations, 1.31, "the same"),
    limit(Figure::FreeLockInstructions, 1.40, "a short reply is read once"),
    limit(Figure::FreeLockAllocations, 0.65, "one reply needs no list"),
    limit(
        Figure::FreeLocksInstructions,
        1.13,
        "first limit; they are batched a little otherwise each time",
    ),
    limit(Figure::FreeLocksAllocations, 0.55, "first limit"),
    limit(Figure::LocalTurnInstructions, 3.6, "first limit"),
    limit(Figure::RedisFreeLock, 1.42, "first limit"),
    limit(Figure::RedisTurn, 26.0, "first limit"),
    limit(Figure::RedissonsFreeLock, 1.99, "first limit"),
    limit(Figure::RedissonsFreeLocks, 1.81, "first limit"),
];
