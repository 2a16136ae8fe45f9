use std::borrow::Cow;

use crate::PlaceholderType;

/// Returns the canonical spelling of `value` as a `ty`, or `None` if it is not such a value.
pub(crate) fn normalize(ty: PlaceholderType, value: &str) -> Option<Cow<'_, str>> {
    match ty {
        PlaceholderType::Text => Some(Cow::Borrowed(value)),
        PlaceholderType::Lower => Some(Cow::Owned(value.to_lowercase())),
        PlaceholderType::U64 => Some(Cow::Owned(value.parse::<u64>().ok()?.to_string())),
        PlaceholderType::I64 => Some(Cow::Owned(value.parse::<i64>().ok()?.to_string())),
        PlaceholderType::Uuid => uuid(value).map(Cow::Owned),
    }
}

/// Returns the lower-case hyphenated form of a UUID in any case, with all four hyphens or none.
fn uuid(value: &str) -> Option<String> {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    let hyphenated = value.len() == 36;
    if !hyphenated && value.len() != 32 {
        return None;
    }
    let mut canonical = String::with_capacity(36);
    for (at, byte) in value.bytes().enumerate() {
        if hyphenated && HYPHENS.contains(&at) {
            if byte != b'-' {
                return None;
            }
            continue;
        }
        if !byte.is_ascii_hexdigit() {
            return None;
        }
        if HYPHENS.contains(&canonical.len()) {
            canonical.push('-');
        }
        canonical.push(char::from(byte.to_ascii_lowercase()));
    }
    Some(canonical)
}
