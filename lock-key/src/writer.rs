use crate::encode::percent_encode;
use crate::normalize::normalize;
use crate::{
    DIGEST_BYTES, MAX_KEY_BYTES, MAX_VALUE_BYTES, PlaceholderType, ValueError, ValueFault,
};

/// Most keys fit, and are not moved while they grow.
const ROOM: usize = 64;

/// Builds a key piece by piece. Every key is built with it.
///
/// [`Template::render`](crate::Template::render) uses it, and so does the code that the
/// attribute macro generates.
///
/// # Examples
///
/// ```
/// use lock_key::{PlaceholderType, KeyWriter};
///
/// let mut writer = KeyWriter::new();
/// writer.literal("order:");
/// writer.value("id", PlaceholderType::U64, "007")?;
/// assert_eq!(writer.finish()?, "order:7");
/// # Ok::<(), lock_key::ValueError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a key comes from `finish`"]
pub struct KeyWriter {
    key: String,
}

impl KeyWriter {
    /// Creates an empty key.
    pub fn new() -> Self {
        Self { key: String::with_capacity(ROOM) }
    }

    /// Appends text of the template, with its literal braces, unencoded.
    pub fn literal(&mut self, text: &str) {
        self.key.push_str(text);
    }

    /// Appends a value, normalized for `ty` and encoded. `placeholder` names it in errors.
    ///
    /// # Errors
    ///
    /// [`ValueError`] if the value is empty, longer than
    /// [`MAX_VALUE_BYTES`](crate::MAX_VALUE_BYTES) or not of the type. The key is unchanged then.
    pub fn value(
        &mut self,
        placeholder: &str,
        ty: PlaceholderType,
        value: &str,
    ) -> Result<(), ValueError> {
        let refuse = |fault| Err(ValueError::of_placeholder(placeholder, fault));
        if value.is_empty() {
            return refuse(ValueFault::Empty);
        }
        if value.len() > MAX_VALUE_BYTES {
            return refuse(ValueFault::TooLong { bytes: value.len(), most: MAX_VALUE_BYTES });
        }
        match normalize(ty, value) {
            Some(value) => percent_encode(&mut self.key, &value),
            None => return refuse(ValueFault::NotOfType { expected: ty }),
        }
        Ok(())
    }

    /// Appends the digest for a hashed placeholder: the SHA-256 of the value's
    /// [canonical](crate::Placeholder::canonical) spelling, in lower-case hex. `placeholder` names it in errors.
    ///
    /// # Errors
    ///
    /// [`ValueError`] if `digest` is not a digest. The key is unchanged then.
    pub fn digest(&mut self, placeholder: &str, digest: &str) -> Result<(), ValueError> {
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digest.len() != DIGEST_BYTES || !digest.bytes().all(is_hex) {
            return Err(ValueError::of_placeholder(placeholder, ValueFault::NotADigest));
        }
        self.key.push_str(digest);
        Ok(())
    }

    /// Returns the finished key.
    ///
    /// # Errors
    ///
    /// [`ValueError`] if the key is longer than [`MAX_KEY_BYTES`](crate::MAX_KEY_BYTES).
    pub fn finish(self) -> Result<String, ValueError> {
        if self.key.len() > MAX_KEY_BYTES {
            return Err(ValueError::of_key(ValueFault::KeyTooLong { bytes: self.key.len() }));
        }
        Ok(self.key)
    }
}
