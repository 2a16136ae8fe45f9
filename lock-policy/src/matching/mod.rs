//! Matches requests and attributes with rules.

mod matcher;
mod path_pattern;
mod path_segment;

pub(crate) use matcher::HeaderMatch;
pub use matcher::{Matcher, RouteMatch, Way, host_of};
pub(crate) use path_pattern::PathPattern;
