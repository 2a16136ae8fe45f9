//! Where a layer's keys come from.

mod bad_key;
#[cfg(feature = "axum")]
mod path;
#[cfg(feature = "axum")]
mod template_error;

use std::{fmt, sync::Arc};

use http::request::Parts;
use lock_core::LockKey;

use crate::name::Name;

pub use bad_key::BadKey;
#[cfg(feature = "axum")]
pub(crate) use path::PathTemplates;
#[cfg(feature = "axum")]
pub use template_error::KeyTemplateError;

type Closure = dyn Fn(&Parts) -> Result<Vec<LockKey>, BadKey> + Send + Sync;

/// One of the keys that a request is locked by.
#[derive(Debug, Clone)]
pub(crate) struct RequestKey {
    pub(crate) key: LockKey,
    /// What it was made from, which may be logged where the key may not.
    pub(crate) template: Option<Name>,
}

impl From<LockKey> for RequestKey {
    fn from(key: LockKey) -> Self {
        Self { key, template: None }
    }
}

/// The way from a request to its keys.
#[derive(Clone)]
pub(crate) enum KeySource {
    #[cfg(feature = "axum")]
    Path(Arc<PathTemplates>),
    Closure(Arc<Closure>),
}

impl KeySource {
    /// At least one key.
    pub(crate) async fn keys(&self, parts: &mut Parts) -> Result<Vec<RequestKey>, BadKey> {
        match self {
            #[cfg(feature = "axum")]
            Self::Path(templates) => templates.keys(parts).await,
            Self::Closure(keys) => {
                let keys = keys(parts)?;
                if keys.is_empty() {
                    let why = "the closure of `RequestLockLayer::with_keys` gave no key, and a \
                               handler never runs without its lock: give a key for every request";
                    return Err(BadKey::misconfigured(why));
                }
                Ok(keys.into_iter().map(RequestKey::from).collect())
            }
        }
    }

    /// The texts of the templates, if it has any.
    pub(crate) fn templates(&self) -> Option<String> {
        match self {
            #[cfg(feature = "axum")]
            Self::Path(templates) => Some(templates.sources()),
            Self::Closure(_) => None,
        }
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.templates().as_deref().unwrap_or("closure"))
    }
}
