use std::error::Error;
use std::fmt;
use std::ops::Range;

use crate::{BraceFault, MAX_KEY_BYTES, MAX_VALUE_BYTES, PlaceholderType};

/// The error for an invalid key template.
///
/// Its text is one line with the fault and valid alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    fault: TemplateFault,
    span: Range<usize>,
}

impl TemplateError {
    pub(crate) fn new(fault: TemplateFault, span: Range<usize>) -> Self {
        Self { fault, span }
    }

    /// Returns the fault.
    pub fn fault(&self) -> &TemplateFault {
        &self.fault
    }

    /// Returns the place, in bytes of the template's source. It is on character boundaries, and
    /// empty only for an empty template.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl Error for TemplateError {}

/// The ways in which a template can be invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateFault {
    /// The template is empty.
    Empty,
    /// Even with the shortest values the key has more than [`MAX_KEY_BYTES`] bytes.
    TooLong,
    /// The text contains a control character.
    ControlCharacter(char),
    /// A `{` opens a placeholder that no `}` closes.
    UnclosedPlaceholder,
    /// A single `}` outside a placeholder.
    UnopenedPlaceholder,
    /// A placeholder without a name.
    EmptyPlaceholder,
    /// A word of a placeholder's path is not a name.
    BadName(String),
    /// A placeholder's type does not exist.
    UnknownType(String),
    /// A word after a `|` is not an option.
    UnknownOption(String),
    /// An option appears twice.
    OptionTwice(&'static str),
    /// A default is not a value of the placeholder's type, or is too long.
    BadDefault(PlaceholderType),
    /// The literal braces do not form one hash tag.
    HashTag(BraceFault),
    /// Different values of two adjacent placeholders could give one key.
    Ambiguous {
        /// The first of the two.
        left: String,
        /// The second.
        right: String,
    },
}

impl fmt::Display for TemplateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the key is empty; write some text, such as `order:{id}`"),
            Self::TooLong => {
                write!(f, "the key is too long: at most {MAX_KEY_BYTES} bytes are allowed")
            }
            Self::ControlCharacter(c) => write!(
                f,
                "the key contains the control character U+{:04X}; only printable text is allowed",
                u32::from(*c)
            ),
            Self::UnclosedPlaceholder => f.write_str(
                "this `{` is not closed; write `{name}` for a value, `{{` for a literal brace",
            ),
            Self::UnopenedPlaceholder => f.write_str(
                "this `}` closes nothing; write `{name}` for a value, `}}` for a literal brace",
            ),
            Self::EmptyPlaceholder => {
                f.write_str("this placeholder is empty; write the name of a value, such as `{id}`")
            }
            Self::BadName(word) => write!(
                f,
                "`{}` is not a name; a placeholder holds a name made of ASCII letters, digits and `_`, \
                 or fields of one, such as `{{id}}` or `{{order.id}}`",
                word.escape_debug()
            ),
            Self::UnknownType(word) => write!(
                f,
                "`{}` is not a type; legal are `{{name:u64}}`, `{{name:i64}}`, `{{name:uuid}}`, \
                 `{{name:lower}}` and `{{name:text}}` for any text",
                word.escape_debug()
            ),
            Self::UnknownOption(word) => write!(
                f,
                "`{}` is not an option; legal are `{{name|hash}}` and `{{name|default=value}}`",
                word.escape_debug()
            ),
            Self::OptionTwice(option) => {
                write!(f, "the option `{option}` is given twice; write it once")
            }
            Self::BadDefault(ty) => write!(
                f,
                "this default is not a value of type {ty}; write 1 to {MAX_VALUE_BYTES} bytes of that \
                 type, such as `{{name:u64|default=1}}`"
            ),
            Self::HashTag(fault) => fault.fmt(f),
            Self::Ambiguous { left, right } => write!(
                f,
                "nothing shows where `{left}` ends and `{right}` begins, so different values \
                 could make one key; separate them by a character that no value contains, \
                 such as `:`"
            ),
        }
    }
}
