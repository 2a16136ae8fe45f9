//! The place of a part of a string literal in the source.

use std::ops::Range;

use proc_macro2::Span;
use syn::LitStr;

/// Returns the span of these bytes of the literal's value.
///
/// Only a nightly compiler has spans inside a literal; otherwise it is the whole literal.
pub(crate) fn within(literal: &LitStr, bytes: Range<usize>) -> Span {
    let token = literal.token();
    offset(&token.to_string(), &literal.value())
        .and_then(|offset| token.subspan(offset + bytes.start..offset + bytes.end))
        .unwrap_or_else(|| literal.span())
}

/// Returns where the value begins in the source text of a literal, if the value is there letter by
/// letter. A literal with an escape has no such place.
fn offset(source: &str, value: &str) -> Option<usize> {
    let offset = source.find('"')? + 1;
    let rest = source[offset..].strip_prefix(value)?;
    rest.starts_with('"').then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::offset;

    #[test]
    fn values_that_stand_in_their_source() {
        assert_eq!(offset(r#""order:{id}""#, "order:{id}"), Some(1));
        assert_eq!(offset(r##"r#"order:{id}"#"##, "order:{id}"), Some(3));
        assert_eq!(offset(r#""or\x64er:{id}""#, "order:{id}"), None);
        assert_eq!(offset(r#""a\"""#, "a"), None);
    }
}
