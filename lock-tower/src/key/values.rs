//! The values of one request.

use std::borrow::Cow;

use cookie::Cookie;
use http::{HeaderValue, header::COOKIE, request::Parts};

use super::{BadKey, KeyValues, source::Source};

pub(crate) struct Values<'r> {
    pub(crate) parts: &'r Parts,
    /// The route's parameters, percent-decoded.
    pub(crate) path: Vec<(&'r str, &'r str)>,
    pub(crate) registered: &'r KeyValues,
}

impl<'r> Values<'r> {
    /// `None`: the request does not have it.
    pub(crate) fn value(&self, source: &Source<'_>) -> Result<Option<Cow<'r, str>>, BadKey> {
        match source {
            Source::Path(name) => {
                let values = self.path.iter().filter(|(key, _)| key == name);
                only(source, values.map(|(_, value)| Ok(Cow::Borrowed(*value))))
            }
            Source::Query(name) => {
                let query = self.parts.uri.query().unwrap_or_default();
                let pairs = form_urlencoded::parse(query.as_bytes());
                let values = pairs.filter(|(key, _)| key == name);
                only(source, values.map(|(_, value)| whole(value, "query parameter", name)))
            }
            Source::Header(name) => {
                let values = self.parts.headers.get_all(name).iter();
                only(source, values.map(|value| text(value, "header", name)))
            }
            Source::Cookie(name) => self.cookie(source, name),
            Source::Claim(name) => Ok(self.registered.claim(self.parts, name).map(Cow::Owned)),
            Source::Extension(name) => {
                Ok(self.registered.of_extension(self.parts, name).map(Cow::Owned))
            }
        }
    }

    fn cookie(&self, source: &Source<'_>, name: &str) -> Result<Option<Cow<'r, str>>, BadKey> {
        let mut found = Vec::new();
        for header in &self.parts.headers.get_all(COOKIE) {
            // A cookie header that is no text as a whole may still have ours in it; which one it
            // is cannot be told, so it is refused.
            let cookies = header.to_str().map_err(|_| unreadable("cookie", name))?;
            let cookies = Cookie::split_parse(cookies).filter_map(Result::ok);
            let named = cookies.filter(|cookie| cookie.name() == name);
            found.extend(named.map(|cookie| Ok(Cow::Owned(cookie.value().to_owned()))));
        }
        only(source, found.into_iter())
    }
}

/// One value or none; with more than one nobody can tell which is meant.
fn only<'r>(
    source: &Source<'_>,
    mut values: impl Iterator<Item = Result<Cow<'r, str>, BadKey>>,
) -> Result<Option<Cow<'r, str>>, BadKey> {
    match (values.next(), values.next()) {
        (Some(_), Some(_)) => Err(source.twice()),
        (value, _) => value.transpose(),
    }
}

/// What is no UTF-8 was decoded as the character that stands for that, whatever it had been: other
/// bytes would give the same key.
fn whole<'r>(value: Cow<'r, str>, what: &str, name: &str) -> Result<Cow<'r, str>, BadKey> {
    if value.contains(char::REPLACEMENT_CHARACTER) {
        Err(unreadable(what, name))
    } else {
        Ok(value)
    }
}

fn text<'r>(value: &'r HeaderValue, what: &str, name: &str) -> Result<Cow<'r, str>, BadKey> {
    str::from_utf8(value.as_bytes()).map(Cow::Borrowed).map_err(|_| unreadable(what, name))
}

fn unreadable(what: &str, name: &str) -> BadKey {
    BadKey::invalid(format!("the {what} `{name}` is no text"))
}
