//! The values of one request.

use std::borrow::Cow;

use cookie::Cookie;
use http::{HeaderValue, header::COOKIE, request::Parts};

use super::{key_values::KeyValues, rejection::KeyRejection, source::Source};

/// What templates may take from a request.
#[derive(Debug)]
pub struct RequestValues<'r> {
    /// The request without its body.
    pub parts: &'r Parts,
    /// The route's parameters, percent-decoded.
    pub path: Vec<(&'r str, &'r str)>,
    /// Where claims and extensions come from.
    pub registered: &'r KeyValues,
}

impl<'r> RequestValues<'r> {
    /// `None`: the request does not have it.
    ///
    /// # Errors
    ///
    /// When it has it twice, or it is no text.
    pub fn value(&self, source: &Source<'_>) -> Result<Option<Cow<'r, str>>, KeyRejection> {
        match source {
            Source::Path(name) => {
                let values = self.path.iter().filter(|(key, _)| key == name);
                at_most_one(source, values.map(|(_, value)| Ok(Cow::Borrowed(*value))))
            }
            Source::Query(name) => {
                let query = self.parts.uri.query().unwrap_or_default();
                let pairs = form_urlencoded::parse(query.as_bytes());
                let values = pairs.filter(|(key, _)| key == name);
                at_most_one(
                    source,
                    values.map(|(_, value)| valid_utf8(value, "query parameter", name)),
                )
            }
            Source::Header(name) => {
                let values = self.parts.headers.get_all(name).iter();
                at_most_one(source, values.map(|value| text(value, "header", name)))
            }
            Source::Cookie(name) => self.cookie(source, name),
            Source::Claim(name) => Ok(self.registered.claim(self.parts, name).map(Cow::Owned)),
            Source::Extension(name) => {
                Ok(self.registered.of_extension(self.parts, name).map(Cow::Owned))
            }
        }
    }

    fn cookie(
        &self,
        source: &Source<'_>,
        name: &str,
    ) -> Result<Option<Cow<'r, str>>, KeyRejection> {
        let mut found = Vec::new();
        for header in &self.parts.headers.get_all(COOKIE) {
            // A cookie header that is no text as a whole may still have ours in it; which one it
            // is cannot be told, so it is refused.
            let cookies = header.to_str().map_err(|_| unreadable("cookie", name))?;
            let cookies = Cookie::split_parse(cookies).filter_map(Result::ok);
            let named = cookies.filter(|cookie| cookie.name() == name);
            found.extend(named.map(|cookie| Ok(Cow::Owned(cookie.value().to_owned()))));
        }
        at_most_one(source, found.into_iter())
    }
}

/// One value or none; with more than one nobody can tell which is meant.
fn at_most_one<'r>(
    source: &Source<'_>,
    mut values: impl Iterator<Item = Result<Cow<'r, str>, KeyRejection>>,
) -> Result<Option<Cow<'r, str>>, KeyRejection> {
    match (values.next(), values.next()) {
        (Some(_), Some(_)) => Err(source.twice()),
        (value, _) => value.transpose(),
    }
}

/// What is no UTF-8 was decoded as the character that stands for that, whatever it had been: other
/// bytes would give the same key.
fn valid_utf8<'r>(
    value: Cow<'r, str>,
    what: &str,
    name: &str,
) -> Result<Cow<'r, str>, KeyRejection> {
    if value.contains(char::REPLACEMENT_CHARACTER) {
        Err(unreadable(what, name))
    } else {
        Ok(value)
    }
}

fn text<'r>(value: &'r HeaderValue, what: &str, name: &str) -> Result<Cow<'r, str>, KeyRejection> {
    str::from_utf8(value.as_bytes()).map(Cow::Borrowed).map_err(|_| unreadable(what, name))
}

fn unreadable(what: &str, name: &str) -> KeyRejection {
    KeyRejection::invalid(format!("the {what} `{name}` is no text"))
}
