//! What the locks of one request share: its scope, and what is known of it.

use std::sync::Arc;

use http::request::Parts;
use lock_core::{Kind, LockClient, LockKey, Mode, Scope};

use crate::{key::RequestKey, name::Name, outcome::Caller};

tokio::task_local! {
    static AMBIENT: RequestContext;
}

/// Travels in the request's extensions and, for functions that see no request, with its task.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    /// The innermost layer's, for attributes.
    #[cfg_attr(not(feature = "axum"), allow(dead_code))]
    pub(crate) client: LockClient,
    pub(crate) scope: Scope,
    pub(crate) caller: Caller,
    around: Option<Arc<Enclosing>>,
}

/// What a layer or an attribute further out holds for this request.
#[derive(Debug)]
pub(crate) struct Enclosing {
    pub(crate) name: Name,
    pub(crate) keys: Vec<RequestKey>,
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) around: Option<Arc<Enclosing>>,
}

impl RequestContext {
    /// The context of the locks further out, if there are any.
    pub(crate) fn find(parts: &Parts) -> Option<Self> {
        parts.extensions.get().cloned().or_else(Self::ambient)
    }

    /// Joins the context further out, or begins one.
    pub(crate) fn join(client: &LockClient, parts: &Parts) -> Self {
        let outer = Self::find(parts);
        Self {
            scope: outer.as_ref().map_or_else(|| client.scope(), |outer| outer.scope.clone()),
            client: client.clone(),
            caller: Caller::of(parts),
            around: outer.and_then(|outer| outer.around),
        }
    }

    /// What the current task runs in.
    pub(crate) fn ambient() -> Option<Self> {
        let scope = Scope::current()?;
        Some(match AMBIENT.try_with(Self::clone) {
            Ok(context) => Self { scope, ..context },
            Err(_) => Self {
                client: scope.client().clone(),
                scope,
                caller: Caller::default(),
                around: None,
            },
        })
    }

    pub(crate) fn inside(&self, lock: Enclosing) -> Self {
        let around = Some(Arc::new(Enclosing { around: self.around.clone(), ..lock }));
        Self { around, ..self.clone() }
    }

    /// The innermost lock further out on `key` of which `is` is true, and that key as it has it.
    pub(crate) fn enclosing(
        &self,
        key: &LockKey,
        is: impl Fn(&Enclosing) -> bool,
    ) -> Option<(&Enclosing, &RequestKey)> {
        let mut next = self.around.as_deref();
        while let Some(lock) = next {
            if let Some(found) = lock.keys.iter().find(|known| known.key == *key)
                && is(lock)
            {
                return Some((lock, found));
            }
            next = lock.around.as_deref();
        }
        None
    }

    /// Runs `work` with the request's scope as the ambient one.
    pub(crate) async fn run<F: Future>(self, work: F) -> F::Output {
        let scope = self.scope.clone();
        AMBIENT.scope(self, scope.run(work)).await
    }
}
