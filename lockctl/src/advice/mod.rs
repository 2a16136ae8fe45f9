//! What other settings of a policy file would cost, worked out from what was observed.
//!
//! Imports go down: `report > by_replay, by_histogram > ..`.

pub(crate) mod by_histogram;
pub(crate) mod by_replay;
pub(crate) mod candidate;
pub(crate) mod edit;
pub(crate) mod figures;
pub(crate) mod groups;
pub(crate) mod histogram;
pub(crate) mod input;
pub(crate) mod observations;
pub(crate) mod queue;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod scrape;
pub(crate) mod series;
pub(crate) mod shadow_log;
pub(crate) mod waits;
