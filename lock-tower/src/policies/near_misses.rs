//! Logs rules that seem to be for a route and do not match it: its requests run without their lock.

use std::sync::atomic::Ordering;

use lock_policy::__private::{Matcher, PathPattern, Rule};

use super::version::{RouteRule, Version};

/// Logs the rules that seem to be meant for this route: their path is its end, as that of a router that is
/// nested, or is spelled otherwise. A route that a rule has as its path is meant to differ from others.
pub(super) fn log(version: &Version, route: &str) {
    let paths = || version.file.rules().iter().filter_map(|rule| Some((rule, path_of(rule)?)));
    if paths().any(|(_, path)| path.is(route)) {
        return;
    }
    for (rule, path) in paths() {
        if path.covers_end_of(route) {
            tracing::error!(
                policy = %rule.name,
                route,
                "requests of this route run without the lock of this rule, because the rule's path is \
                 only the end of the route: the router is nested, and a rule has the whole path. Write \
                 the route as the rule's path"
            );
        } else if path.nearly_covers(route) {
            tracing::error!(
                policy = %rule.name,
                route,
                "requests of this route run without the lock of this rule, because the rule's path \
                 \"{path}\" differs from it in the name of a parameter, in upper and lower case, or by a \
                 slash at the end: did you mean \"{route}\"?"
            );
        }
    }
}

/// Logs once that a request was served without the lock of this rule, whose path is the end of the request's.
pub(super) fn log_end_of_path(rule: &RouteRule) {
    if !rule.is_missed.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            policy = &*rule.lock.policy.name,
            "a request was served without the lock of this rule, whose path is only the end of the \
             request's: if a router is nested there, a rule has the whole path. The route is not known \
             where the layer is"
        );
    }
}

/// Returns the rules of a new version that differ from those before and match none of the routes that
/// requests have had.
pub(super) fn without_a_route<'v>(
    before: &Version,
    after: &'v Version,
    seen: &[Box<str>],
) -> Vec<&'v str> {
    let is_new = |rule: &&Rule| !before.file.rules().iter().any(|old| old.matcher == rule.matcher);
    let matches_none = |rule: &&Rule| {
        path_of(rule).is_some_and(|path| !seen.iter().any(|route| path.covers(route)))
    };
    let rules = after.file.rules().iter().filter(|_| !seen.is_empty());
    rules.filter(is_new).filter(matches_none).map(|rule| &*rule.name).collect()
}

fn path_of(rule: &Rule) -> Option<&PathPattern> {
    match &rule.matcher {
        Matcher::Route(matches) => matches.path.as_ref(),
        Matcher::Attribute(_) => None,
    }
}
