//! The sources of a layer's keys.

#[cfg(feature = "axum")]
pub(crate) mod route_parameters;

use std::{fmt, sync::Arc};

use http::request::Parts;
use lock_core::LockKey;
use lock_policy::{
    __private::{RequestKey, RequestKeys},
    KeyRejection, KeyValues, ReplaceBy,
};

#[cfg(feature = "axum")]
use lock_policy::__private::KeyTemplates;

type Closure = dyn Fn(&Parts) -> Result<Vec<LockKey>, KeyRejection> + Send + Sync;

/// Computes the keys of a request.
#[derive(Clone)]
pub(crate) enum KeySource {
    #[cfg(feature = "axum")]
    Templates(Arc<KeyTemplates>),
    Closure(Arc<Closure>),
}

impl KeySource {
    /// Returns the path parameters that the templates require.
    #[cfg(feature = "policy")]
    pub(crate) fn parameters(&self) -> Vec<&str> {
        match self {
            Self::Templates(templates) => templates.required_parameters(),
            Self::Closure(_) => Vec::new(),
        }
    }

    /// Returns the request's keys, at least one.
    pub(crate) async fn keys(
        &self,
        parts: &mut Parts,
        #[cfg_attr(not(feature = "axum"), expect(unused_variables))] values: &KeyValues,
    ) -> Result<RequestKeys, KeyRejection> {
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

    /// Whether requests with the same key may replace each other.
    pub(crate) fn fits(&self, by: &ReplaceBy) -> bool {
        match self {
            #[cfg(feature = "axum")]
            Self::Templates(templates) => templates.fits(by),
            Self::Closure(_) => *by == ReplaceBy::Anyone,
        }
    }

    /// Returns the texts of the templates, if there are any.
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
