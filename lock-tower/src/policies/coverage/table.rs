//! The table of routes and their policies.

use std::{collections::BTreeMap, fmt};

use http::Method;

use super::{missing_parameters::missing_parameters, route::Route};
use crate::policies::{
    Policies,
    version::{RouteRule, Version},
};

/// The policies of each route: from [`Policies::check_routes`]. Its `Display` output is a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouteTable {
    lines: Vec<RouteRow>,
    without_route: Vec<String>,
    without_parameter: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct RouteRow {
    route: String,
    methods: String,
    /// The policies that may match the route's requests, in the order of the file.
    policies: Vec<String>,
}

impl RouteTable {
    /// Returns the routes without a policy, with their methods: their requests are not locked.
    pub fn without_policy(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.lines.iter().filter(|line| line.policies.is_empty());
        lines.map(|line| (line.route.as_str(), line.methods.as_str()))
    }

    /// Returns the policies without a route: their names, each with a suggestion.
    pub fn without_route(&self) -> impl Iterator<Item = &str> {
        self.without_route.iter().map(String::as_str)
    }

    /// Returns the routes that lack a parameter which the key of their policy names, with both
    /// names. Their requests are answered 500 `lock-misconfigured`. This only happens with rules
    /// that have no path, or a path that ends in `{*rest}`.
    pub fn without_parameter(&self) -> impl Iterator<Item = &str> {
        self.without_parameter.iter().map(String::as_str)
    }
}

impl Policies {
    /// Compares the policies in force with these routes, and logs the table.
    ///
    /// A test of the service takes the routes of its router from `testing::routes` (feature
    /// `testing`); a service that knows its routes otherwise can do it at start.
    ///
    /// ```
    /// # use lock_tower::{LockClient, policies::{Policies, Route}};
    /// # let file = "version = 1\n[[policy]]\nname = \"order\"\nmatch = { path = \"/orders/{id}\" }\nkey = \"order:{id:u64}\"";
    /// use http::Method;
    ///
    /// # let policies = Policies::builder(LockClient::in_memory()).parse("locks.toml", file)?;
    /// let table = policies.check_routes([Route::new("/orders/{id}", [Method::GET, Method::PUT])]);
    /// assert_eq!(table.without_route().count(), 0, "{table}");
    /// # Ok::<(), lock_tower::policies::PoliciesError>(())
    /// ```
    ///
    /// Rules for attributes are not compared: the attributes are unknown until they run, see
    /// [`attributes_not_seen`](Self::attributes_not_seen).
    ///
    /// Paths alone are compared. Whether a layer covers the route is not seen: none does of a route that
    /// is added after [`route_layer`](axum::Router::route_layer). `testing::rules_of` (feature `testing`)
    /// sends a request, and shows which rules it meets.
    pub fn check_routes(&self, routes: impl IntoIterator<Item = Route>) -> RouteTable {
        let routes: Vec<Route> = routes.into_iter().collect();
        let table = table(&self.current(), &routes);
        if !table.without_parameter.is_empty() {
            tracing::warn!(
                "there are routes without a parameter that their policy needs:\n{table}"
            );
        } else if !table.without_route.is_empty() {
            tracing::warn!("there are policies without a route:\n{table}");
        } else {
            tracing::info!("routes and their policies:\n{table}");
        }
        table
    }
}

fn table(version: &Version, routes: &[Route]) -> RouteTable {
    let mut lines = Vec::new();
    for route in routes {
        // Methods with the same policies share a line.
        let mut alike: BTreeMap<Vec<String>, Vec<&str>> = BTreeMap::new();
        for method in &route.methods {
            alike
                .entry(policies_for(version, route, Some(method)))
                .or_default()
                .push(method.as_str());
        }
        // A `GET` handler answers `HEAD` too. Show `HEAD` if its policies differ.
        if let Some(head) = route.head() {
            let met = policies_for(version, route, Some(head));
            if !alike.get(&met).is_some_and(|methods| methods.contains(&"GET")) {
                alike.entry(met).or_default().push(head.as_str());
            }
        }
        if route.methods.is_empty() {
            alike.insert(policies_for(version, route, None), vec!["any"]);
        }
        lines.extend(alike.into_iter().map(|(policies, methods)| RouteRow {
            route: route.path.clone(),
            methods: methods.join(" "),
            policies,
        }));
    }
    let unused =
        version.routes.iter().filter(|rule| !routes.iter().any(|route| rule.is_for(route)));
    RouteTable {
        lines,
        without_route: unused.map(|rule| rule.suggestion(routes)).collect(),
        without_parameter: routes
            .iter()
            .flat_map(|route| missing_parameters(version, route))
            .collect(),
    }
}

/// Returns the policies that may match requests to this route.
fn policies_for(version: &Version, route: &Route, method: Option<&Method>) -> Vec<String> {
    let met = rules(version, route, method).into_iter().map(|(rule, all)| {
        let name = &rule.lock.policy.name;
        if all { name.to_string() } else { format!("{name} (some requests)") }
    });
    met.collect()
}

/// Returns the candidate rules, each with whether it matches all requests that reach it.
pub(in crate::policies) fn rules<'v>(
    version: &'v Version,
    route: &Route,
    method: Option<&Method>,
) -> Vec<(&'v RouteRule, bool)> {
    let mut rules = Vec::new();
    for rule in &version.routes {
        if !rule.has_path(route) || !rule.has_method(method) {
            continue;
        }
        let matches = &rule.matches;
        let any_host = matches.host.is_none() && matches.headers.is_empty();
        // A route for any method may receive requests with other methods.
        let any_method = method.is_some() || matches.methods.is_empty();
        rules.push((rule, any_host && any_method));
        if any_host && any_method {
            break;
        }
    }
    rules
}

impl RouteRule {
    fn has_path(&self, route: &Route) -> bool {
        self.matches.path.as_ref().is_none_or(|path| path.covers(&route.path))
    }

    /// Whether the rule matches this method; `None` is a route for any method.
    fn has_method(&self, method: Option<&Method>) -> bool {
        let methods = &self.matches.methods;
        methods.is_empty() || method.is_none_or(|method| methods.contains(method))
    }

    fn is_for(&self, route: &Route) -> bool {
        self.has_path(route)
            && (route.methods.is_empty()
                || route
                    .methods
                    .iter()
                    .chain(route.head())
                    .any(|method| self.has_method(Some(method))))
    }

    /// Returns the rule's name, with the route that it may be meant for.
    fn suggestion(&self, routes: &[Route]) -> String {
        let name = &*self.lock.policy.name;
        let Some(path) = &self.matches.path else { return format!("`{name}`") };
        let is_near =
            |route: &&Route| path.nearly_covers(&route.path) || path.covers_end_of(&route.path);
        let why = if routes.iter().any(|route| path.is(&route.path)) {
            "the route has other methods".to_owned()
        } else {
            match routes.iter().find(is_near) {
                Some(route) => format!("did you mean {}?", route.path),
                None => "the router has no such route".to_owned(),
            }
        };
        format!("`{name}` for {path}: {why}")
    }
}

impl fmt::Display for RouteTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |of: fn(&RouteRow) -> &str, title: &str| {
            let widths = self.lines.iter().map(|line| of(line).chars().count());
            widths.max().unwrap_or(0).max(title.len())
        };
        let (route, methods) =
            (width(|line| &line.route, "route"), width(|line| &line.methods, "methods"));
        writeln!(f, "{:route$}  {:methods$}  policy", "route", "methods")?;
        for line in &self.lines {
            let policies = match line.policies.as_slice() {
                [] => "none".to_owned(),
                policies => policies.join(", "),
            };
            writeln!(f, "{:route$}  {:methods$}  {policies}", line.route, line.methods)?;
        }
        for policy in &self.without_route {
            writeln!(f, "without a route: {policy}")?;
        }
        for route in &self.without_parameter {
            writeln!(f, "without a parameter: {route}")?;
        }
        Ok(())
    }
}
