//! Computes the keys of a request.

mod cookie_header;
mod key_values;
mod lock_template;
mod rejection;
mod request_values;
mod sha256;
mod source;
mod template_error;
mod templates;
mod untyped;

use lock_core::{__private::LockSpec, LockKey};
use smallvec::SmallVec;

use crate::settings::LockName;

pub use key_values::KeyValues;
pub use lock_template::LockTemplate;
#[cfg(feature = "file")]
pub(crate) use lock_template::TemplateLock;
pub use rejection::KeyRejection;
pub use request_values::{PathParameters, RequestValues};
#[cfg(feature = "file")]
pub(crate) use sha256::sha256;
#[cfg(feature = "file")]
pub(crate) use source::SOURCES;
pub use source::Source;
pub use template_error::KeyTemplateError;
pub use templates::KeyTemplates;
#[cfg(feature = "file")]
pub(crate) use templates::{KeyTemplate, resolve_value};
pub use untyped::Untyped;
#[cfg(feature = "file")]
pub(crate) use untyped::is_untyped;

/// One of a request's keys.
#[derive(Debug, Clone)]
pub struct RequestKey {
    /// The key.
    pub key: LockKey,
    /// The template of the key, which may be logged where the key may not.
    pub template: Option<LockName>,
    /// Which lock it has; `None` for that of the policy.
    pub own: Option<LockSpec>,
}

/// The keys of a request: most have one, which needs no allocation.
pub type RequestKeys = SmallVec<[RequestKey; 1]>;

impl From<LockKey> for RequestKey {
    fn from(key: LockKey) -> Self {
        Self { key, template: None, own: None }
    }
}
