//! Where a layer's key comes from.

mod bad_key;
#[cfg(feature = "axum")]
mod path;
#[cfg(feature = "axum")]
mod template_error;

use std::{fmt, sync::Arc};

use http::request::Parts;
use lock_core::LockKey;

pub use bad_key::BadKey;
#[cfg(feature = "axum")]
pub(crate) use path::PathTemplate;
#[cfg(feature = "axum")]
pub use template_error::KeyTemplateError;

type Closure = dyn Fn(&Parts) -> Result<LockKey, BadKey> + Send + Sync;

/// The way from a request to its key.
#[derive(Clone)]
pub(crate) enum KeySource {
    #[cfg(feature = "axum")]
    Path(Arc<PathTemplate>),
    Closure(Arc<Closure>),
}

impl KeySource {
    pub(crate) async fn key(&self, parts: &mut Parts) -> Result<LockKey, BadKey> {
        match self {
            #[cfg(feature = "axum")]
            Self::Path(template) => template.key(parts).await,
            Self::Closure(key) => key(parts),
        }
    }

    /// The template's text, if it is one.
    pub(crate) fn template(&self) -> Option<&str> {
        match self {
            #[cfg(feature = "axum")]
            Self::Path(template) => Some(template.source()),
            Self::Closure(_) => None,
        }
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.template().unwrap_or("closure"))
    }
}
