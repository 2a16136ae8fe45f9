//! What other settings of a policy file would cost, worked out from what was observed.
//!
//! `by_replay` has the advice from a shadow log, `by_histogram` that from scrapes.

pub(crate) mod by_histogram;
pub(crate) mod by_replay;
pub(crate) mod candidate;
pub(crate) mod edit;
pub(crate) mod figures;
pub(crate) mod groups;
pub(crate) mod lease;
pub(crate) mod queue;
pub(crate) mod queue_of_leavers;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod waits;
