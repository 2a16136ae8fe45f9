//! The sources of a layer's keys.

#[cfg(feature = "axum")]
pub(crate) mod route_parameters;

use std::{fmt, sync::Arc};

use http::{Method, request::Parts};
use lock_core::{__private::LockSpec, LockKey, Mode};
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

    /// Whether each key says by itself which lock it has.
    pub(crate) fn have_own_locks(&self) -> bool {
        match self {
            #[cfg(feature = "axum")]
            Self::Templates(templates) => templates.have_own_locks(),
            Self::Closure(_) => false,
        }
    }

    /// Returns the strongest mode of those locks for a request with this method; `None` if it is the
    /// policy's.
    pub(crate) fn own_mode(
        &self,
        #[cfg_attr(not(feature = "axum"), expect(unused_variables))] method: &Method,
    ) -> Option<Mode> {
        match self {
            #[cfg(feature = "axum")]
            Self::Templates(templates) => templates.own_mode(method),
            Self::Closure(_) => None,
        }
    }

    /// Returns the locks of a request with this method, where each key says by itself which it has.
    pub(crate) fn own_locks(
        &self,
        #[cfg_attr(not(feature = "axum"), expect(unused_variables))] method: &Method,
    ) -> Vec<LockSpec> {
        match self {
            #[cfg(feature = "axum")]
            Self::Templates(templates) => templates.own_locks(method).collect(),
            Self::Closure(_) => Vec::new(),
        }
    }

    /// Returns keys that requests could have, of one request each; none if they are not known.
    pub(crate) fn samples(&self) -> Vec<Vec<LockKey>> {
        match self {
            #[cfg(feature = "axum")]
            // Two of a few keys without a common hash tag can be in one slot of a cluster, rarely all.
            Self::Templates(templates) => (1..=4).map(|number| templates.sample(number)).collect(),
            Self::Closure(_) => Vec::new(),
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
