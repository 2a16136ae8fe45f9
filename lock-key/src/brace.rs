use std::error::Error;
use std::fmt;
use std::ops::Range;

/// Checks that the braces of a finished key form one hash tag, or that there are none.
///
/// Redis Cluster computes the slot from the text between the first `{` and the next `}`, or from the
/// whole key without braces. With one pair that is not empty, every name derived from the key is in the
/// key's slot.
///
/// # Errors
///
/// [`BraceError`] if a brace has no partner, if there is a second pair, or if the pair is empty. Its
/// span counts bytes of `key`.
///
/// # Examples
///
/// ```
/// use lock_key::check_braces;
///
/// assert!(check_braces("order:42").is_ok());
/// assert!(check_braces("order:{42}:lines").is_ok());
/// assert!(check_braces("order:{}").is_err());
/// ```
pub fn check_braces(key: &str) -> Result<(), BraceError> {
    check(key.char_indices().filter(|(_, c)| matches!(c, '{' | '}')).map(|(at, c)| (c, at..at + 1)))
}

/// The rule itself, for braces with their places. A key and a template differ only in the number of
/// bytes of a brace.
pub(crate) fn check(
    braces: impl IntoIterator<Item = (char, Range<usize>)>,
) -> Result<(), BraceError> {
    let mut open: Option<Range<usize>> = None;
    let mut closed = false;
    for (brace, span) in braces {
        match (brace, &open, closed) {
            ('{', None, _) => open = Some(span),
            ('}', Some(start), false) if start.end == span.start => {
                return Err(BraceError::new(BraceFault::EmptyTag, start.start..span.end));
            }
            ('}', Some(_), false) => closed = true,
            ('}', None, _) => return Err(BraceError::new(BraceFault::CloseWithoutOpen, span)),
            _ => return Err(BraceError::new(BraceFault::MoreThanOnePair, span)),
        }
    }
    match open {
        Some(span) if !closed => Err(BraceError::new(BraceFault::OpenWithoutClose, span)),
        _ => Ok(()),
    }
}

/// The error for a key whose braces do not form one hash tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BraceError {
    fault: BraceFault,
    span: Range<usize>,
}

impl BraceError {
    fn new(fault: BraceFault, span: Range<usize>) -> Self {
        Self { fault, span }
    }

    /// Returns the fault.
    pub fn fault(&self) -> BraceFault {
        self.fault
    }

    /// Returns the place, in bytes of the checked text.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

impl fmt::Display for BraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl Error for BraceError {}

/// The ways in which the braces of a key can be invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BraceFault {
    /// A `}` comes before any `{`.
    CloseWithoutOpen,
    /// The `{` has no `}` after it.
    OpenWithoutClose,
    /// The pair is empty.
    EmptyTag,
    /// There are braces beyond the first pair.
    MoreThanOnePair,
}

impl fmt::Display for BraceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CloseWithoutOpen => "a literal `}` comes before any `{`",
            Self::OpenWithoutClose => "a literal `{` has no `}` after it",
            Self::EmptyTag => "the literal braces have no text between them",
            Self::MoreThanOnePair => "there are more literal braces than one pair",
        })?;
        f.write_str("; the literal braces of a key form one hash tag, such as `order:{42}`")
    }
}
