//! Path parameters that a key names and its route lacks.

use super::{route::Route, table::rules};
use crate::{
    pipeline::route_lock::RouteLock, policies::version::Version, request_lock::RequestLockLayer,
};

/// Returns the parameters that the keys of a route's policies name and the route lacks.
pub(super) fn missing_parameters(version: &Version, route: &Route) -> Vec<String> {
    let mut lacks = Vec::new();
    let methods: Vec<_> = match route.methods.as_slice() {
        [] => vec![None],
        methods => methods.iter().map(Some).collect(),
    };
    for (rule, _) in methods.into_iter().flat_map(|method| rules(version, route, method)) {
        if let Some(line) = missing_parameter(&rule.lock, route)
            && !lacks.contains(&line)
        {
            lacks.push(line);
        }
    }
    lacks
}

/// Returns the first parameter that the lock's key names and the route lacks, with both names.
fn missing_parameter(lock: &RouteLock, route: &Route) -> Option<String> {
    // A nested service's routes have their own parameters.
    if route.path.ends_with("{*}") {
        return None;
    }
    let has = |name: &str| {
        ["{", "{*"].into_iter().any(|open| route.path.contains(&format!("{open}{name}}}")))
    };
    let name = lock.keys.parameters().into_iter().find(|name| !has(name))?;
    Some(format!("{} has no `{name}` for the key of `{}`", route.path, lock.policy.name))
}

impl RequestLockLayer {
    /// Returns the routes that lack a path parameter which this layer's templates name, with both names, and
    /// logs them: their requests would be answered 500 `lock-misconfigured`.
    ///
    /// A test of the service takes the routes from `testing::routes` (feature `testing`), of the router to
    /// which the layer is added.
    ///
    /// ```
    /// use http::Method;
    /// use lock_tower::{LockClient, RequestLockLayer, policies::Route};
    ///
    /// let lock = RequestLockLayer::new(LockClient::in_memory(), "order:{id:u64}")?;
    /// let lacking = lock.check_routes([Route::new("/orders/{order_id}", [Method::PUT])]);
    /// assert_eq!(lacking, ["/orders/{order_id} has no `id` for the key of `order:{id:u64}`"]);
    /// # Ok::<(), lock_tower::KeyTemplateError>(())
    /// ```
    pub fn check_routes(&self, routes: impl IntoIterator<Item = Route>) -> Vec<String> {
        let routes = routes.into_iter();
        let lacking: Vec<_> =
            routes.filter_map(|route| missing_parameter(&self.lock, &route)).collect();
        for line in &lacking {
            tracing::warn!("a route lacks a parameter that its lock needs: {line}");
        }
        lacking
    }
}
