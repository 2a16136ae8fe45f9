//! The key-template grammar of lock-tower, and the durations of its options.
//!
//! A lock's key is written once as a template, such as `order:{id}`, and filled for each call
//! with the values of that call. The attribute macro, the request layer and the policy file all
//! parse templates with this crate and build keys with its [`KeyWriter`], so the same template and the
//! same values give the same key everywhere.
//!
//! # Grammar
//!
//! | in the template | meaning |
//! |---|---|
//! | any text without control characters | itself |
//! | `{name}`, `{name.field}`, `{name.0}` | a placeholder: the value of that name or field |
//! | `{name:u64}`, `{name:i64}` | a whole number: `7`, `+7` and `007` give one key |
//! | `{name:uuid}` | a UUID: with or without hyphens, in any case, gives one key |
//! | `{name:lower}` | text in lower case: `Ann` and `ann` give one key |
//! | `{name:text}` | text as it is, as without a type: `7` and `007` give two keys. It says that this is meant |
//! | `{name\|default=1}` | `1` if the value is missing |
//! | `{name\|hash}`, `{name:lower\|hash}` | the SHA-256 of the value, for long values and personal data |
//! | `{{`, `}}` | a literal brace: `order:{{{id}}}` puts the id into a Redis hash tag |
//!
//! Literal braces form one hash tag that is not empty, or there are none.
//! Names are ASCII letters, digits and `_`; after the first `.` also `-`, as in
//! `{header.x-tenant}`. The attribute macro has no options: its values are never missing.
//!
//! # One key, one meaning
//!
//! Every byte of a value outside `A-Z a-z 0-9 _ . -` is percent-encoded, and two placeholders must be
//! separated by text that no value can contain. So two different sets of values never give the
//! same key of one template, whatever a client sends. Of two templates they can: `user-{id}` and
//! `user-{id}-cart` both give `user-7-cart`. Separate the parts by `:`, which no value contains.
//! [`Template::common_key`] finds such a key.
//!
//! A digest always has 64 bytes, so text beside it cannot be mistaken for a part of it.
//!
//! A value has 1 to [`MAX_VALUE_BYTES`] bytes before encoding, a hashed one up to
//! [`MAX_HASHED_BYTES`], a key at most [`MAX_KEY_BYTES`].
//!
//! # Examples
//!
//! ```
//! use std::borrow::Cow;
//! use std::convert::Infallible;
//!
//! use lock_key::Template;
//!
//! let template = Template::parse("order:{tenant}:{id:u64}")?;
//! let key = template.render(|placeholder| {
//!     Ok::<_, Infallible>(Cow::Borrowed(match placeholder.name().as_str() {
//!         "tenant" => "north/1",
//!         _ => "007",
//!     }))
//! })?;
//! assert_eq!(key, "order:north%2F1:7");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ambiguity;
mod brace;
mod common_key;
mod duration;
mod encode;
mod lexer;
mod normalize;
mod part;
mod placeholder;
mod placeholder_parser;
mod template;
mod template_error;
mod value_error;
mod writer;

pub use brace::{BraceError, BraceFault, check_braces};
pub use duration::{DurationError, MAX_DURATION, MIN_LEASE, parse_duration};
pub use part::KeyPart;
pub use placeholder::{Placeholder, PlaceholderType, UnknownPlaceholderType};
pub use template::{RenderError, Segment, Template};
pub use template_error::{TemplateError, TemplateFault};
pub use value_error::{ValueError, ValueFault};
pub use writer::KeyWriter;

/// The longest key, in bytes after encoding: 512.
///
/// The prefix that a client adds before the key is not counted.
pub const MAX_KEY_BYTES: usize = 512;

/// The most permits that a semaphore has.
pub const MAX_PERMITS: u32 = 1_000_000;

/// The longest value of a placeholder, in bytes before encoding: 128.
pub const MAX_VALUE_BYTES: usize = 128;

/// The longest value of a hashed placeholder, in bytes before hashing: 8 KiB.
pub const MAX_HASHED_BYTES: usize = 8 * 1024;

/// The bytes of a hashed value in a key: a SHA-256 in hex.
pub(crate) const DIGEST_BYTES: usize = 64;
