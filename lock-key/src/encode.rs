use crate::PlaceholderType;

/// The digits of an encoded byte.
pub(crate) const HEX: [char; 16] =
    ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];

/// The characters that stay unencoded in a value, so that keys stay readable.
pub(crate) fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// Appends `value` to `key`, with every byte that is not plain as `%XX`.
///
/// `%` itself is not plain, so the encoding can be undone and is therefore injective.
pub(crate) fn percent_encode(key: &mut String, value: &str) {
    for byte in value.bytes() {
        if is_plain(byte) {
            key.push(char::from(byte));
        } else {
            key.push('%');
            key.push(HEX[usize::from(byte >> 4)]);
            key.push(HEX[usize::from(byte & 0xF)]);
        }
    }
}

/// Returns whether an encoded value of type `ty` can contain `byte`.
pub(crate) fn may_contain(ty: PlaceholderType, byte: u8) -> bool {
    match ty {
        PlaceholderType::Text | PlaceholderType::Lower => is_plain(byte) || byte == b'%',
        PlaceholderType::U64 => byte.is_ascii_digit(),
        PlaceholderType::I64 => byte.is_ascii_digit() || byte == b'-',
        PlaceholderType::Uuid => byte.is_ascii_hexdigit() || byte == b'-',
    }
}
