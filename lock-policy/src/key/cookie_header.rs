//! The cookies of a `Cookie` header.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Returns the values of the cookies of this name, as tower-cookies and `axum_extra` read them.
///
/// Name and value are trimmed and percent-decoded, and quotes are a part of the value. A cookie
/// that does not decode to UTF-8 is left out.
pub(super) fn values<'h>(header: &'h str, name: &str) -> impl Iterator<Item = Cow<'h, str>> {
    header.split(';').filter_map(move |cookie| {
        let (key, value) = cookie.split_once('=')?;
        if decoded(key)? == name { decoded(value) } else { None }
    })
}

fn decoded(text: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(text.trim()).decode_utf8().ok()
}

#[cfg(test)]
mod tests {
    use cookie::Cookie;

    use super::values;

    /// Parts of headers that are easily read in two ways.
    const PARTS: [&str; 14] =
        ["sid", "s%69d", "=", ";", " ", "\u{a0}", "\"", "%", "%3D", "%3B", "%20", "%ff", "ö", "7"];

    /// Compares every header of up to four parts, after `sid=` and alone: if a handler read
    /// another value than is locked, a client could spell one cookie in two ways and have two locks.
    #[test]
    fn cookies_are_read_as_handlers_read_them() {
        let mut headers = vec![String::new()];
        let mut found = 0;
        for _ in 0..4 {
            headers = headers
                .iter()
                .flat_map(|header| PARTS.map(|part| format!("{header}{part}")))
                .collect();
            for header in headers.iter().flat_map(|end| [end.clone(), format!("sid={end}")]) {
                let read: Vec<_> = values(&header, "sid").collect();
                let cookies = Cookie::split_parse_encoded(&*header).filter_map(Result::ok);
                let named = cookies.filter(|cookie| cookie.name() == "sid");
                let expected: Vec<_> = named.map(|cookie| cookie.value().to_owned()).collect();
                assert_eq!(read, expected, "{header:?}");
                found += read.len();
            }
        }
        assert!(found > 10_000, "{found}");
    }
}
