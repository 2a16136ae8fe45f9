//! Matches requests and attributes with rules.

mod matcher;
mod path_pattern;
mod path_segment;

pub(crate) use matcher::HeaderMatch;
pub(crate) use matcher::host_name;
pub use matcher::{Matcher, RouteMatch, Way, host_of};
pub use path_pattern::PathPattern;
