//! The routes of an Axum router, for tests.
//!
//! Axum does not list a router's routes, but the router's `Debug` text contains them: numbers,
//! methods and paths, including nested and merged ones. This module parses that text as Axum 0.8
//! writes it. A test compares the result with the behaviour of the router in use. A test may fail
//! when Axum changes its text; a service must not depend on it at start.

use axum::Router;
use http::Method;

use crate::policies::Route;

/// The names of methods in a router's text, with the methods.
const METHODS: [(&str, Method); 9] = [
    ("get", Method::GET),
    ("head", Method::HEAD),
    ("delete", Method::DELETE),
    ("options", Method::OPTIONS),
    ("patch", Method::PATCH),
    ("post", Method::POST),
    ("put", Method::PUT),
    ("trace", Method::TRACE),
    ("connect", Method::CONNECT),
];

/// The text between the numbered endpoints and the numbered paths of a router.
const PATHS: &str = "node: Node { paths: {";
/// The parameter that Axum adds for a nested service.
const NESTED: &str = "{*__private__axum_nest_tail_param}";

/// Returns the routes of a router, by path, for a test that compares them with a policy file.
///
/// ```
/// use axum::{Router, routing::get};
/// use lock_tower::{LockClient, policies::Policies, testing};
///
/// # let file = "version = 1\n[[policy]]\nname = \"order\"\nmatch = { path = \"/orders/{id}\" }\nkey = \"order:{id:u64}\"";
/// let policies = Policies::builder(LockClient::in_memory()).parse("locks.toml", file)?;
/// let app: Router = Router::new().route("/orders/{id}", get(|| async { "shown" }));
/// let table = policies.check_routes(testing::routes(&app));
/// assert_eq!(table.without_route().count(), 0, "{table}");
/// # Ok::<(), lock_tower::policies::PoliciesError>(())
/// ```
///
/// The table shows nothing of layers: [`rules_of`](super::rules_of) shows whether one covers a route.
///
/// # Panics
///
/// If the router comes from a version of Axum that this crate does not support. Axum has no
/// interface for listing routes, so this function parses the router's `Debug` text.
#[must_use]
pub fn routes<S>(router: &Router<S>) -> Vec<Route> {
    let Some(routes) = read(&format!("{router:?}")) else {
        panic!("the routes of this router cannot be read: this version of Axum is not known");
    };
    routes
}

/// Returns the routes in a router's `Debug` text, by path; `None` if its form is unknown.
fn read(router: &str) -> Option<Vec<Route>> {
    let (endpoints, paths) = router.split_once(PATHS)?;
    let mut routes = Vec::new();
    let mut rest = paths;
    while let Some((number, behind)) = numbered(rest) {
        let (path, behind) = text(behind)?;
        rest = behind;
        // The nested service routes these paths itself.
        let path = path.strip_suffix(NESTED).map_or(path.clone(), |above| format!("{above}{{*}}"));
        let endpoint = endpoints.split(&format!("{number}: ")).nth(1)?;
        routes.push(Route { path, methods: methods(endpoint) });
    }
    routes.sort_by(|one, other| one.path.cmp(&other.path));
    rest.starts_with('}').then_some(routes)
}

/// Splits off `RouteId(7)` and its colon.
fn numbered(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix(", ").unwrap_or(text);
    text.starts_with("RouteId(").then(|| text.split_once(": "))?
}

/// Parses a Rust string literal. Returns it and the rest of the text.
fn text(literal: &str) -> Option<(String, &str)> {
    let mut characters = literal.strip_prefix('"')?.char_indices();
    let mut text = String::new();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some((text, &literal[at + 2..])),
            '\\' => text.push(characters.next()?.1),
            c => text.push(c),
        }
    }
    None
}

fn methods(endpoint: &str) -> Vec<Method> {
    let endpoint = endpoint.split("RouteId(").next().unwrap_or_default();
    if !endpoint.starts_with("MethodRouter") || endpoint.contains("allow_header: Skip") {
        return Vec::new();
    }
    let handled = |name: &str| {
        let value = endpoint.split(&format!(" {name}: ")).nth(1);
        value.is_some_and(|value| !value.starts_with("None"))
    };
    METHODS.into_iter().filter_map(|(name, method)| handled(name).then_some(method)).collect()
}

#[cfg(test)]
mod tests {
    use axum::{
        Router,
        routing::{any, get, put},
    };

    use super::{Route, read, routes};

    async fn handler() {}

    fn route(path: &str, methods: &str) -> Route {
        let methods = methods.split_whitespace();
        let methods = methods.map(|method| method.parse().unwrap_or_default()).collect();
        Route { path: path.to_owned(), methods }
    }

    #[test]
    fn the_router_of_this_version_of_axum_is_read() {
        let api = Router::new()
            .route("/items/{id}", get(handler).delete(handler))
            .route("/any", any(handler));
        let app: Router = Router::new()
            .route("/orders/{id}", get(handler).put(handler))
            .nest("/api/{tenant}", api)
            .merge(Router::new().route("/a\"\\b{{c}}", put(handler)))
            .nest_service("/files", get(handler))
            .route_service("/service", get(handler))
            .fallback(handler);
        let expected = vec![
            route("/a\"\\b{{c}}", "PUT"),
            route("/api/{tenant}/any", ""),
            route("/api/{tenant}/items/{id}", "GET DELETE"),
            route("/files", ""),
            route("/files/", ""),
            route("/files/{*}", ""),
            route("/orders/{id}", "GET PUT"),
            route("/service", ""),
        ];
        assert_eq!(routes(&app), expected);
        let empty: Router = Router::new();
        assert_eq!(routes(&empty), []);
    }

    #[test]
    fn another_text_is_not_guessed_at() {
        assert_eq!(read("Router"), None);
        assert_eq!(read("node: Node { paths: {RouteId(1): /a} }"), None);
    }
}
