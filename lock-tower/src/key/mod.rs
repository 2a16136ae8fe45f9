//! Where a layer's keys come from.

mod bad_key;
mod registered;
#[cfg(feature = "axum")]
mod source;
#[cfg(feature = "axum")]
mod template_error;
#[cfg(feature = "axum")]
mod templates;
#[cfg(feature = "axum")]
mod values;

use std::{fmt, sync::Arc};

use http::request::Parts;
use lock_core::LockKey;

use crate::name::Name;

pub use bad_key::BadKey;
pub use registered::KeyValues;
#[cfg(feature = "policy")]
pub(crate) use source::{SOURCES, Source};
#[cfg(feature = "axum")]
pub use template_error::KeyTemplateError;
#[cfg(feature = "axum")]
pub(crate) use templates::KeyTemplates;
#[cfg(feature = "policy")]
pub(crate) use templates::stands_in;
#[cfg(feature = "policy")]
pub(crate) use values::Values;

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
    Templates(Arc<KeyTemplates>),
    Closure(Arc<Closure>),
}

impl KeySource {
    /// The path parameters that templates cannot do without.
    #[cfg(feature = "policy")]
    pub(crate) fn parameters(&self) -> Vec<&str> {
        let Self::Templates(templates) = self else { return Vec::new() };
        let holes = templates.iter().flat_map(|template| template.template().holes());
        let needed = holes.filter(|hole| hole.default.is_none());
        let parameter = |hole| match Source::of(hole) {
            Some(Source::Path(name)) => Some(name),
            _ => None,
        };
        needed.filter_map(parameter).collect()
    }

    /// At least one key.
    pub(crate) async fn keys(
        &self,
        parts: &mut Parts,
        #[cfg_attr(not(feature = "axum"), expect(unused_variables))] values: &KeyValues,
    ) -> Result<Vec<RequestKey>, BadKey> {
        match self {
            #[cfg(feature = "axum")]
            Self::Templates(templates) => templates.keys(parts, values).await,
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
            Self::Templates(templates) => Some(templates.sources()),
            Self::Closure(_) => None,
        }
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.templates().as_deref().unwrap_or("closure"))
    }
}
