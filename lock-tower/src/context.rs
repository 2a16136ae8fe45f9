//! What the locks of one request share: its scope, and what is known of it.

use std::sync::Arc;

use http::request::Parts;
use lock_core::{LockClient, LockKey, Mode, Scope};

use crate::{name::Name, outcome::Caller};

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

/// A lock that a layer or an attribute further out holds for this request.
#[derive(Debug)]
pub(crate) struct Enclosing {
    pub(crate) name: Name,
    /// The layer's, where the name does not say it already.
    pub(crate) template: Option<Name>,
    pub(crate) key: LockKey,
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

    /// The lock further out that reads `key`.
    pub(crate) fn reader_of(&self, key: &LockKey) -> Option<&Enclosing> {
        let mut next = self.around.as_deref();
        while let Some(lock) = next {
            if lock.mode == Mode::Read && lock.key == *key {
                return Some(lock);
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
