use std::{convert::Infallible, fmt, sync::Arc};

use lock_key::MAX_KEY_BYTES;
use thiserror::Error;

/// The name of one lock, checked once: not empty, at most [`MAX_KEY_BYTES`] bytes, no control
/// characters, and braces either absent or one well-formed hash tag such as `order:{42}`.
///
/// Case matters, and no Unicode normalisation takes place. Cheap to clone.
///
/// ```
/// use lock_core::{KeyError, LockKey};
///
/// let key = LockKey::try_from("order:42")?;
/// assert_eq!(key.as_str(), "order:42");
/// assert_eq!(LockKey::try_from(""), Err(KeyError::Empty));
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockKey(Arc<str>);

impl LockKey {
    /// Returns the key as it was given, without the client's prefix.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for LockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The reason why a text is not a valid lock key. Nothing was sent and nothing is held.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key has no characters.
    #[error("the lock key is empty: name what is locked, such as \"order:42\"")]
    Empty,
    /// The key has more than [`MAX_KEY_BYTES`] bytes.
    #[error(
        "the lock key has {length} bytes; at most {MAX_KEY_BYTES} are allowed: hash the long part"
    )]
    TooLong {
        /// The bytes that the key has.
        length: usize,
    },
    /// The key has a control character, such as a line break.
    #[error("the lock key has a control character at byte {at}")]
    ControlCharacter {
        /// Its position, in bytes from the start.
        at: usize,
    },
    /// The key's braces are not one well-formed Redis hash tag.
    #[error(
        "the lock key's braces are not one well-formed hash tag: use none, or one pair with text \
         between, such as \"order:{{42}}\""
    )]
    Braces,
}

impl From<Infallible> for KeyError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl TryFrom<&str> for LockKey {
    type Error = KeyError;

    fn try_from(text: &str) -> Result<Self, KeyError> {
        check(text)?;
        Ok(Self(text.into()))
    }
}

impl TryFrom<&String> for LockKey {
    type Error = KeyError;

    fn try_from(text: &String) -> Result<Self, KeyError> {
        text.as_str().try_into()
    }
}

impl TryFrom<String> for LockKey {
    type Error = KeyError;

    #[inline]
    fn try_from(text: String) -> Result<Self, KeyError> {
        check(&text)?;
        Ok(Self(text.into()))
    }
}

impl From<&LockKey> for LockKey {
    fn from(key: &LockKey) -> Self {
        key.clone()
    }
}

#[inline]
fn check(text: &str) -> Result<(), KeyError> {
    if text.is_empty() {
        return Err(KeyError::Empty);
    }
    if text.len() > MAX_KEY_BYTES {
        return Err(KeyError::TooLong { length: text.len() });
    }
    // Most keys are plain: nothing else is searched for in them.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'{' | b'}')) {
        return Ok(());
    }
    if let Some(at) = text.find(char::is_control) {
        return Err(KeyError::ControlCharacter { at });
    }
    lock_key::check_braces(text).map_err(|_| KeyError::Braces)
}

/// A value that names a lock: a text, or a key that was checked before.
///
/// A text that is not a valid key is refused when the lock is acquired.
pub trait IntoLockKey {
    /// Checks the text.
    ///
    /// # Errors
    ///
    /// A [`KeyError`] with the reason.
    fn into_lock_key(self) -> Result<LockKey, KeyError>;
}

impl<T> IntoLockKey for T
where
    T: TryInto<LockKey>,
    T::Error: Into<KeyError>,
{
    #[inline]
    fn into_lock_key(self) -> Result<LockKey, KeyError> {
        self.try_into().map_err(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_checked() {
        let parse = |text: &str| LockKey::try_from(text).map(|key| key.as_str().to_owned());
        assert_eq!(parse("order:{42}:x").as_deref(), Ok("order:{42}:x"));
        assert_eq!(parse(""), Err(KeyError::Empty));
        assert_eq!(parse("a\r\nb"), Err(KeyError::ControlCharacter { at: 1 }));
        assert_eq!(parse(&"x".repeat(512)).map(|key| key.len()), Ok(512));
        assert_eq!(parse(&"x".repeat(513)), Err(KeyError::TooLong { length: 513 }));
        for odd in ["a{b", "a}b", "{}", "a{}", "a}b{", "{a}{b}", "{{a}}", "{a}}"] {
            assert_eq!(parse(odd), Err(KeyError::Braces), "{odd}");
        }
    }
}
