use std::ops::Range;

use lock_key::TemplateError;
use thiserror::Error;

/// The error for text that is not a layer's key template, or for an invalid list of templates.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyTemplateError {
    /// The text is not a template.
    #[error("in the key template `{template}`: {error}")]
    Template {
        /// The text.
        template: String,
        /// The parser's error, with its position.
        #[source]
        error: TemplateError,
    },
    /// A placeholder names nothing of a request.
    #[error(
        "in the key template `{template}`: `{placeholder}` is not part of a request; use \
         `{{name}}` or `{{path.name}}` for a path parameter, `{{query.name}}`, `{{header.name}}`, \
         `{{cookie.name}}`, `{{claim.name}}` and `{{ext.name}}`; make a key from anything else \
         with `RequestLockLayer::with_key`"
    )]
    UnknownSource {
        /// The text.
        template: String,
        /// The placeholder's content.
        placeholder: String,
        /// The placeholder's position, in bytes of the text.
        span: Range<usize>,
    },
    /// A list of templates is empty.
    #[error("the list of key templates is empty: name what is locked, such as `order:{{id}}`")]
    None,
    /// Two templates of one request can give the same key, as two kinds of lock.
    #[error(
        "the key templates `{other}` and `{template}` can give one key, such as `{key}`, as two kinds of \
         lock: give them different words"
    )]
    TwoKinds {
        /// The text.
        template: String,
        /// The text of an earlier one.
        other: String,
        /// The shortest key that both give.
        key: String,
    },
    /// A list of templates contains the same one twice.
    #[error("the key template `{template}` is given twice; remove one")]
    Twice {
        /// The text.
        template: String,
    },
}
