use lock_core::LockClient;
use tower_layer::Layer;

use super::RequestScope;

/// Opens a scope for each request and provides the client, without taking a lock.
///
/// See the [module docs](crate::request_scope).
#[derive(Debug, Clone)]
#[must_use = "a layer does nothing until it is added to a router or a service"]
pub struct RequestScopeLayer {
    client: LockClient,
}

impl RequestScopeLayer {
    /// Creates a layer that provides `client` to the services inside.
    pub fn new(client: LockClient) -> Self {
        Self { client }
    }
}

impl<S> Layer<S> for RequestScopeLayer {
    type Service = RequestScope<S>;

    fn layer(&self, inner: S) -> RequestScope<S> {
        RequestScope::new(inner, self.client.clone())
    }
}
