use std::{fmt, sync::Arc};

use http::request::Parts;

type PermitsFn = dyn Fn(&Parts) -> Option<u32> + Send + Sync;

/// How many permits a semaphore has for a request; `None` for the policy's number.
#[derive(Clone)]
pub(crate) struct PermitsOf(Arc<PermitsFn>);

impl PermitsOf {
    pub(crate) fn new(permits: impl Fn(&Parts) -> Option<u32> + Send + Sync + 'static) -> Self {
        Self(Arc::new(permits))
    }

    pub(crate) fn of(&self, parts: &Parts) -> Option<u32> {
        (self.0)(parts)
    }
}

impl fmt::Debug for PermitsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PermitsOf")
    }
}
