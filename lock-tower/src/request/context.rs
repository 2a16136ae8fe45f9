//! The state that the locks of one request share: its scope and its deadline.

use std::{iter, sync::Arc};

use futures_util::FutureExt;
use http::{Extensions, request::Parts};
use lock_core::{__private::LockSpec, LockClient, LockKey, Scope};
use lock_policy::__private::{LockName, RequestKey, RequestKeys};

use super::{deadline::RequestDeadline, lock_slot::LockSlot};
use crate::{lock_settings::attribute_rules::AttributeRules, outcome::caller::Caller};

tokio::task_local! {
    static AMBIENT: RequestContext;
}

/// Travels in the request's extensions and, for functions without access to the request, with its
/// task.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    /// The innermost layer's client, for attributes.
    #[cfg_attr(not(feature = "axum"), allow(dead_code))]
    pub(crate) client: LockClient,
    pub(crate) scope: Scope,
    pub(crate) caller: Arc<Caller>,
    pub(crate) deadline: Option<RequestDeadline>,
    /// The rules for attributes of the policy files around the request.
    pub(crate) attributes: Option<Arc<AttributeRules>>,
    around: Option<Arc<Enclosing>>,
    /// The lock of the innermost layer, for extractors: only in a request's extensions.
    slot: Option<LockSlot>,
}

/// A lock that a layer or an attribute further out holds for this request.
#[derive(Debug)]
pub(crate) struct Enclosing {
    pub(crate) name: LockName,
    pub(crate) keys: RequestKeys,
    /// That of each key that does not say by itself which it has.
    pub(crate) lock: LockSpec,
    /// Whether it is enforced for all of its keys, which depends on the policy.
    pub(crate) enforced: bool,
    pub(crate) around: Option<Arc<Enclosing>>,
}

impl Enclosing {
    /// Returns the lock on one of its keys.
    pub(crate) fn lock_on(&self, key: &RequestKey) -> LockSpec {
        key.own.unwrap_or(self.lock)
    }
}

impl RequestContext {
    /// Returns the context of the locks further out, if there are any.
    pub(crate) fn find(parts: &Parts) -> Option<Self> {
        parts.extensions.get().cloned().or_else(Self::ambient)
    }

    /// Joins the context further out, or creates one.
    pub(crate) fn join(client: &LockClient, parts: &Parts) -> Self {
        let outer = Self::find(parts);
        let slot = outer.as_ref().and_then(|outer| outer.slot.clone());
        let caller = Arc::new(Caller::of(parts));
        let scope = match &outer {
            Some(outer) => outer.scope.clone(),
            None => client.scope(),
        };
        // Replaces that of a layer outside the router, which does not know the route.
        scope.set_origin(Arc::clone(&caller) as _);
        Self {
            scope,
            client: client.clone(),
            caller,
            deadline: earliest(
                parts.extensions.get().copied(),
                outer.as_ref().and_then(|outer| outer.deadline),
            ),
            attributes: outer.as_ref().and_then(|outer| outer.attributes.clone()),
            around: outer.and_then(|outer| outer.around),
            slot,
        }
    }

    /// Returns the context with this deadline, set between the layer and the handler, if it is
    /// earlier.
    #[cfg(feature = "axum")]
    pub(crate) fn no_later_than(self, deadline: Option<RequestDeadline>) -> Self {
        Self { deadline: earliest(self.deadline, deadline), ..self }
    }

    /// Returns the context of the current task.
    pub(crate) fn ambient() -> Option<Self> {
        let scope = Scope::current()?;
        Some(match AMBIENT.try_with(Self::clone) {
            Ok(context) => Self { scope, slot: None, ..context },
            Err(_) => Self::of(scope),
        })
    }

    /// Creates the context of work outside of a request.
    pub(crate) fn of(scope: Scope) -> Self {
        Self {
            client: scope.client().clone(),
            scope,
            caller: Caller::none(),
            deadline: None,
            attributes: None,
            around: None,
            slot: None,
        }
    }

    pub(crate) fn inside(&self, lock: Enclosing) -> Self {
        let around = Some(Arc::new(Enclosing { around: self.around.clone(), ..lock }));
        Self { around, slot: None, ..self.clone() }
    }

    /// Puts this context among a request's extensions, with the lock that extractors show.
    pub(crate) fn insert_with(&self, slot: LockSlot, extensions: &mut Extensions) {
        // That of an attribute further out is not the innermost lock any more.
        extensions.remove::<LockSlot>();
        extensions.insert(Self { slot: Some(slot), ..self.clone() });
    }

    /// Returns the innermost lock around a request: the attribute's, or that of the layer next to it.
    pub(crate) fn innermost_lock(extensions: &Extensions) -> Option<&LockSlot> {
        let of_layer = || extensions.get::<Self>()?.slot.as_ref();
        extensions.get().or_else(of_layer)
    }

    /// Returns the innermost lock further out on `key` that satisfies `is`, and its copy of the
    /// key.
    pub(crate) fn enclosing(
        &self,
        key: &LockKey,
        is: impl Fn(LockSpec) -> bool,
    ) -> Option<(&Enclosing, &RequestKey)> {
        let mut next = self.around.as_deref();
        while let Some(lock) = next {
            if let Some(found) = lock.keys.iter().find(|known| known.key == *key)
                && is(lock.lock_on(found))
            {
                return Some((lock, found));
            }
            next = lock.around.as_deref();
        }
        None
    }

    /// Whether a lock further out has this key too.
    pub(crate) fn encloses(&self, key: &LockKey) -> bool {
        self.enclosing(key, |_| true).is_some()
    }

    /// Whether a lock further out lets this request run without the lock on `key`. A lock whose
    /// request lacked its key may be the one on `key`, so it counts too.
    pub(crate) fn lets_pass(&self, key: &LockKey) -> bool {
        let around = iter::successors(self.around.as_deref(), |lock| lock.around.as_deref());
        around
            .filter(|lock| !lock.enforced)
            .any(|lock| lock.keys.is_empty() || lock.keys.iter().any(|known| known.key == *key))
    }

    /// Runs one synchronous step with the request's scope as the ambient one.
    pub(crate) fn step<T>(&self, step: impl FnOnce() -> T) -> T {
        let done = self.clone().run(async { step() }).now_or_never();
        done.expect("BUG: there is nothing to wait for")
    }

    /// Runs `work` with the request's scope as the ambient one.
    pub(crate) fn run<F: Future>(self, work: F) -> impl Future<Output = F::Output> + use<F> {
        let work = self.scope.run(work);
        AMBIENT.scope(self, work)
    }
}

/// Returns the earlier of the deadlines that are set.
fn earliest(
    one: Option<RequestDeadline>,
    other: Option<RequestDeadline>,
) -> Option<RequestDeadline> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use lock_core::Mode;
    use smallvec::SmallVec;

    use super::*;
    use crate::request::lock_slot::SlotEntry;

    #[test]
    fn a_layer_inside_an_attribute_has_the_innermost_lock() {
        let context = RequestContext::of(LockClient::in_memory().scope());
        let [attribute, layer] = [LockSlot::default(), LockSlot::default()];
        layer.fill(SlotEntry {
            name: LockName::Fixed("layer"),
            mode: Mode::Read,
            views: SmallVec::new(),
            unlocked: None,
            reacquire: None,
        });
        let mut extensions = Extensions::new();
        extensions.insert(attribute);
        context.insert_with(layer, &mut extensions);
        let innermost = RequestContext::innermost_lock(&extensions).and_then(LockSlot::get);
        assert_eq!(innermost.map(|entry| &*entry.name), Some("layer"));
        extensions.insert(LockSlot::default());
        let innermost = RequestContext::innermost_lock(&extensions).expect("the attribute's");
        assert!(innermost.get().is_none());
    }
}
