use http::Method;

/// A route of a service, to be [compared](super::super::Policies::check_routes) with its policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The path, as the router writes it.
    pub(crate) path: String,
    /// The methods. Empty for any method, or for a service whose methods are unknown.
    pub(crate) methods: Vec<Method>,
}

impl Route {
    /// Creates a route with this path, written as for [`Router::route`](axum::Router::route), and
    /// these methods; no methods mean any. A path that ends in `{*}` is everything below a nested
    /// service.
    pub fn new(path: impl Into<String>, methods: impl IntoIterator<Item = Method>) -> Self {
        Self { path: path.into(), methods: methods.into_iter().collect() }
    }

    /// Returns `HEAD` if a `GET` handler answers it too.
    pub(super) fn head(&self) -> Option<&Method> {
        let (get, head) = (&Method::GET, &Method::HEAD);
        (self.methods.contains(get) && !self.methods.contains(head)).then_some(head)
    }
}
