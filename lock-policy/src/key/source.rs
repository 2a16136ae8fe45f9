use lock_key::Placeholder;

use super::rejection::KeyRejection;

/// The part of a request that a placeholder names.
#[derive(Debug, PartialEq, Eq)]
pub enum Source<'h> {
    /// `{id}` or `{path.id}`: a path parameter of the route.
    Path(&'h str),
    /// `{query.page}`.
    Query(String),
    /// `{header.x-tenant}`.
    Header(String),
    /// `{cookie.sid}`.
    Cookie(String),
    /// `{claim.sub}`.
    Claim(String),
    /// `{ext.tenant}`.
    Extension(String),
}

#[cfg(feature = "file")]
/// The spellings of the sources, for messages. The first is the default.
pub(crate) const SOURCES: [&str; 6] = ["path", "query", "header", "cookie", "claim", "ext"];

impl<'h> Source<'h> {
    /// Parses a placeholder; `None` if it names no known source, or has no name after it.
    #[must_use]
    pub fn of(placeholder: &'h Placeholder) -> Option<Self> {
        let (source, name) = match &*placeholder.path {
            [name] => return Some(Self::Path(name)),
            [source, name @ ..] => (source.as_str(), name),
            [] => return None,
        };
        // A name with a dot, such as `page.size`, is a single name in query strings and cookies.
        let joined = || name.join(".");
        Some(match (source, name) {
            ("path", [name]) => Self::Path(name),
            ("query", _) => Self::Query(joined()),
            ("header", _) => Self::Header(joined()),
            ("cookie", _) => Self::Cookie(joined()),
            ("claim", _) => Self::Claim(joined()),
            ("ext", _) => Self::Extension(joined()),
            _ => return None,
        })
    }

    /// Returns the rejection of a request without this value.
    #[must_use]
    pub fn missing(&self) -> KeyRejection {
        match self {
            Self::Path(name) => KeyRejection::misconfigured(format!(
                "the key names the path parameter `{name}`, which the request's route does not \
                 have: add the layer by `Router::route_layer` to routes that have it"
            )),
            Self::Query(name) => {
                KeyRejection::missing(format!("the query parameter `{name}` is missing"))
            }
            Self::Header(name) => KeyRejection::missing(format!("the header `{name}` is missing")),
            Self::Cookie(name) => KeyRejection::missing(format!("the cookie `{name}` is missing")),
            Self::Claim(name) => KeyRejection::misconfigured(format!(
                "the request has no claim `{name}`: register where claims come from by \
                 `KeyValues::claims`, and authenticate outside of the lock"
            )),
            Self::Extension(name) => KeyRejection::misconfigured(format!(
                "the request has no value for `{{ext.{name}}}`: register where it comes from by \
                 `KeyValues::extension`, and set it outside of the lock"
            )),
        }
    }

    /// Returns the rejection of a request with several of these values.
    #[must_use]
    pub fn twice(&self) -> KeyRejection {
        let (what, name) = match self {
            // Nested routers can use one name twice, which is the service's fault.
            Self::Path(name) => {
                return KeyRejection::misconfigured(format!(
                    "the key names the path parameter `{name}`, which the request's route has \
                     twice: rename one of them"
                ));
            }
            Self::Query(name) => ("query parameter", name),
            Self::Header(name) => ("header", name),
            Self::Cookie(name) => ("cookie", name),
            Self::Claim(name) => ("claim", name),
            Self::Extension(name) => ("extension", name),
        };
        KeyRejection::invalid(format!("the {what} `{name}` is given more than once; send it once"))
    }
}
