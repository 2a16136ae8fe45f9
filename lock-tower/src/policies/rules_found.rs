//! Which rules a request meets, for the test kit.

use std::sync::Arc;

use http::request::Parts;
use lock_core::__private::Mutex;

/// An extension of the request, with which each policy layer leaves the name of its rule.
#[derive(Clone, Default)]
pub(crate) struct RulesFound(Arc<Mutex<Vec<Option<String>>>>);

impl RulesFound {
    pub(crate) fn take(&self) -> Vec<Option<String>> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// Notes the rule that a layer has found for a request.
pub(super) fn note(parts: &Parts, rule: Option<&str>) {
    if let Some(found) = parts.extensions.get::<RulesFound>() {
        found.0.lock().push(rule.map(str::to_owned));
    }
}
