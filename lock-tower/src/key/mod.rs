//! Where a layer's keys come from.

#[cfg(feature = "axum")]
pub(crate) mod route_parameters;

use std::{fmt, sync::Arc};

use http::request::Parts;
use lock_core::LockKey;
use lock_policy::{__private::RequestKey, KeyRejection, KeyValues};

#[cfg(feature = "axum")]
use lock_policy::__private::KeyTemplates;

type Closure = dyn Fn(&Parts) -> Result<Vec<LockKey>, KeyRejection> + Send + Sync;

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
        match self {
            Self::Templates(templates) => templates.required_parameters(),
            Self::Closure(_) => Vec::new(),
        }
    }

    /// At least one key.
    pub(crate) async fn keys(
        &self,
        parts: &mut Parts,
        #[cfg_attr(not(feature = "axum"), expect(unused_variables))] values: &KeyValues,
    ) -> Result<Vec<RequestKey>, KeyRejection> {
        match self {
            #[cfg(feature = "axum")]
            Self::Templates(templates) => route_parameters::keys(templates, parts, values).await,
            Self::Closure(keys) => {
                let keys = keys(parts)?;
                if keys.is_empty() {
                    let why = "the closure of `RequestLockLayer::with_keys` gave no key, and a \
                               handler never runs without its lock: give a key for every request";
                    return Err(KeyRejection::misconfigured(why));
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
