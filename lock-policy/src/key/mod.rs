//! From a request to the keys that it is locked by.

mod key_values;
mod rejection;
mod request_values;
mod source;
mod template_error;
mod templates;

use lock_core::LockKey;

use crate::settings::LockName;

pub use key_values::KeyValues;
pub use rejection::KeyRejection;
pub use request_values::RequestValues;
#[cfg(feature = "file")]
pub(crate) use source::{SOURCES, Source};
pub use template_error::KeyTemplateError;
pub use templates::KeyTemplates;
#[cfg(feature = "file")]
pub(crate) use templates::resolve_value;

/// One of the keys that a request is locked by.
#[derive(Debug, Clone)]
pub struct RequestKey {
    /// The key.
    pub key: LockKey,
    /// What it was made from, which may be logged where the key may not.
    pub template: Option<LockName>,
}

impl From<LockKey> for RequestKey {
    fn from(key: LockKey) -> Self {
        Self { key, template: None }
    }
}
