use tower_layer::Layer;

use super::{Policies, service::PolicyService};

/// Runs each request under the lock that the policies in force define for it: from
/// [`Policies::layer`].
#[derive(Debug, Clone)]
#[must_use = "a layer does nothing until it is added to a router or a service"]
pub struct PolicyLayer {
    policies: Policies,
}

impl PolicyLayer {
    pub(super) fn new(policies: Policies) -> Self {
        Self { policies }
    }
}

impl<S> Layer<S> for PolicyLayer {
    type Service = PolicyService<S>;

    fn layer(&self, inner: S) -> PolicyService<S> {
        PolicyService::new(inner, self.policies.clone())
    }
}
