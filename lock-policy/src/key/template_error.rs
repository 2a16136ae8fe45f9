use std::ops::Range;

use lock_core::TemplateError;
use thiserror::Error;

/// Why a text is no key template for a layer, or several are not.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyTemplateError {
    /// It is no template at all.
    #[error("in the key template `{template}`: {error}")]
    Template {
        /// The text.
        template: String,
        /// What is wrong with it, and where.
        #[source]
        error: TemplateError,
    },
    /// A placeholder names nothing that a request has.
    #[error(
        "in the key template `{template}`: `{placeholder}` is nothing of a request; legal are `{{name}}` \
         or `{{path.name}}` for a path parameter, `{{query.name}}`, `{{header.name}}`, \
         `{{cookie.name}}`, `{{claim.name}}` and `{{ext.name}}`; a key of anything else comes from \
         `RequestLockLayer::with_key`"
    )]
    UnknownSource {
        /// The text.
        template: String,
        /// What stands in the placeholder.
        placeholder: String,
        /// Where it stands, in bytes of the text.
        span: Range<usize>,
    },
    /// A list of templates is empty.
    #[error("the list of key templates is empty: name what is locked, such as `order:{{id}}`")]
    None,
    /// A list of templates has the same one twice.
    #[error("the key template `{template}` is given twice; one of them locks the key")]
    Twice {
        /// The text.
        template: String,
    },
}
