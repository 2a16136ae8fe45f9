//! The name of an item.

use std::{borrow::Cow, fmt};

use lock_tower::KeyPart;
use serde::{Deserialize, Serialize};

/// 1 to 64 letters, digits, `_` and `-`: valid in a file name. Anything else is answered 400.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Sku(String);

impl TryFrom<String> for Sku {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        match text.len() {
            1..=64 if text.bytes().all(legal) => Ok(Self(text)),
            _ => Err("a sku is 1 to 64 letters, digits, `_` and `-`"),
        }
    }
}

impl fmt::Display for Sku {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Allows `{sku}` in the key of an attribute.
impl KeyPart for Sku {
    fn key_part(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}
