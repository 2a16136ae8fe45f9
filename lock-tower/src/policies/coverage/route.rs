use http::Method;

/// A route of a service, to be [compared](super::super::Policies::check_routes) with its policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// As the router has it.
    pub(crate) path: String,
    /// Empty: any, or a service that nobody can look into.
    pub(crate) methods: Vec<Method>,
}

impl Route {
    /// The route with this path, written as for [`Router::route`](axum::Router::route), and these
    /// methods; none stand for any. A path that ends in `{*}` is everything below a nested service.
    pub fn new(path: impl Into<String>, methods: impl IntoIterator<Item = Method>) -> Self {
        Self { path: path.into(), methods: methods.into_iter().collect() }
    }

    /// `HEAD`, where a `GET` handler answers it too.
    pub(super) fn head(&self) -> Option<&Method> {
        let (get, head) = (&Method::GET, &Method::HEAD);
        (self.methods.contains(get) && !self.methods.contains(head)).then_some(head)
    }
}
