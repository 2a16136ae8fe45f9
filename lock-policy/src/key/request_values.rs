//! The values of one request.

use std::borrow::Cow;

use http::{HeaderValue, header::COOKIE, request::Parts};
use smallvec::SmallVec;

use super::{cookie_header, key_values::KeyValues, rejection::KeyRejection, source::Source};

/// The names and values of a route's parameters: most routes have few, which need no allocation.
pub type PathParameters<'r> = SmallVec<[(&'r str, &'r str); 2]>;

/// The parts of a request that templates may use.
#[derive(Debug)]
pub struct RequestValues<'r> {
    /// The request without its body.
    pub parts: &'r Parts,
    /// The route's parameters, percent-decoded.
    pub path: PathParameters<'r>,
    /// The sources of claims and extensions.
    pub registered: &'r KeyValues,
}

impl<'r> RequestValues<'r> {
    /// Returns the value; `None` if the request lacks it.
    ///
    /// # Errors
    ///
    /// If the request has it twice, or it is not text.
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

    /// Reads cookies as handlers do. Otherwise a client could spell one cookie in two ways, and
    /// have two locks.
    fn cookie(
        &self,
        source: &Source<'_>,
        name: &str,
    ) -> Result<Option<Cow<'r, str>>, KeyRejection> {
        let mut found = Vec::new();
        for header in self.parts.headers.get_all(COOKIE).iter() {
            // A cookie header that is not text as a whole may still contain this cookie, but it
            // cannot be parsed safely, so it is refused.
            let header = str::from_utf8(header.as_bytes());
            let header = header.map_err(|_| unreadable("cookie", name))?;
            found.extend(cookie_header::values(header, name).map(Ok));
        }
        at_most_one(source, found.into_iter())
    }
}

/// Returns one value or none. Several values are ambiguous and refused.
fn at_most_one<'r>(
    source: &Source<'_>,
    mut values: impl Iterator<Item = Result<Cow<'r, str>, KeyRejection>>,
) -> Result<Option<Cow<'r, str>>, KeyRejection> {
    match (values.next(), values.next()) {
        (Some(_), Some(_)) => Err(source.twice()),
        (value, _) => value.transpose(),
    }
}

/// Rejects values that were not UTF-8. Decoding replaced their bytes with U+FFFD, so different
/// values would have the same key.
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
    KeyRejection::invalid(format!("the {what} `{name}` is not text"))
}
