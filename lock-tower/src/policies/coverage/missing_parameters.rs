//! Path parameters that a key names and its route lacks.

use super::{route::Route, table::rules};
use crate::policies::version::Version;

/// Returns the parameters that the keys of a route's policies name and the route lacks.
pub(super) fn missing_parameters(version: &Version, route: &Route) -> Vec<String> {
    let mut lacks = Vec::new();
    // A nested service's routes have their own parameters.
    if route.path.ends_with("{*}") {
        return lacks;
    }
    let methods: Vec<_> = match route.methods.as_slice() {
        [] => vec![None],
        methods => methods.iter().map(Some).collect(),
    };
    let has = |name: &str| {
        ["{", "{*"].into_iter().any(|open| route.path.contains(&format!("{open}{name}}}")))
    };
    for (rule, _) in methods.into_iter().flat_map(|method| rules(version, route, method)) {
        if let Some(name) = rule.lock.keys.parameters().into_iter().find(|name| !has(name)) {
            let policy = &rule.lock.policy.name;
            let line = format!("{} has no `{name}` for the key of `{policy}`", route.path);
            if !lacks.contains(&line) {
                lacks.push(line);
            }
        }
    }
    lacks
}
