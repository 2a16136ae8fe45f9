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
    limit(
        Figure::RequestInstructions,
        1.81,
        "a release needs no separate task and no queue in the writer; a body in many pieces is copied \
         together",
    ),
    limit(Figure::RequestAllocations, 1.09, "the same"),
    limit(
        Figure::AttributeInstructions,
        1.83,
        "a policy is made once for each attribute, and says what the span of a wait has as outcome",
    ),
    limit(Figure::AttributeAllocations, 1.17, "the same"),
    limit(Figure::FreeLockInstructions, 1.33, "a release goes to the store without a queue"),
    limit(Figure::FreeLockAllocations, 0.69, "a batch of releases is a list, also of one"),
    limit(
        Figure::FreeLocksInstructions,
        0.97,
        "releases of one moment are one command; they are batched a little otherwise each time",
    ),
    limit(Figure::FreeLocksAllocations, 0.46, "releases of one moment are one command"),
    limit(Figure::LocalTurnInstructions, 3.6, "first limit"),
    limit(Figure::RedisFreeLock, 1.42, "first limit"),
    limit(Figure::RedisTurn, 10.5, "the line is in the value, and flat scripts read it"),
    limit(Figure::RedissonsFreeLock, 1.99, "first limit"),
    limit(Figure::RedissonsFreeLocks, 1.78, "first limit"),
];
