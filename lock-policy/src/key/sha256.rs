//! Hashes of values.

use std::fmt::Write;

use hmac_sha256::Hash;

/// Returns the SHA-256 of a text in hexadecimal digits.
pub(crate) fn sha256(text: &str) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Hash::hash(text.as_bytes()) {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}
