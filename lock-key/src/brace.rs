use std::error::Error;
use std::fmt;
use std::ops::Range;

/// Checks that the braces of a finished key form one hash tag, or that there are none.
///
/// Redis Cluster places a key by the text between its first `{` and the next `}`, and by the
/// whole key when there is none. With one pair and something in it, every name derived from the
/// key lands in the key's own slot.
///
/// # Errors
///
/// [`BraceError`] when a brace has no partner, when there is a second pair, or when nothing
/// stands between the two. Its span counts bytes of `key`.
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

/// The rule itself, over braces with their places: a key and a template differ only in how many
/// bytes of source a brace takes.
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

/// The braces of a key do not form one hash tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BraceError {
    fault: BraceFault,
    span: Range<usize>,
}

impl BraceError {
    fn new(fault: BraceFault, span: Range<usize>) -> Self {
        Self { fault, span }
    }

    /// What is wrong.
    pub fn fault(&self) -> BraceFault {
        self.fault
    }

    /// Where, in bytes of the checked text.
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

/// What can be wrong with the braces of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BraceFault {
    /// A `}` comes before any `{`.
    CloseWithoutOpen,
    /// The `{` has no `}` after it.
    OpenWithoutClose,
    /// Nothing stands between `{` and `}`.
    EmptyTag,
    /// There are braces beyond the first pair.
    MoreThanOnePair,
}

impl fmt::Display for BraceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CloseWithoutOpen => "a literal `}` comes before any `{`",
            Self::OpenWithoutClose => "a literal `{` has no `}` after it",
            Self::EmptyTag => "nothing stands between the literal braces",
            Self::MoreThanOnePair => "there are more literal braces than one pair",
        })?;
        f.write_str("; the literal braces of a key form one hash tag, such as `order:{42}`")
    }
}
