//! Matches requests and attributes.

use std::{borrow::Cow, net::Ipv6Addr, sync::Arc};

use http::{HeaderMap, HeaderName, Method, Uri, header::HOST};
use percent_encoding::percent_decode_str;

use super::path_pattern::PathPattern;

/// The requests or the attribute that a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matcher {
    /// Requests.
    Route(RouteMatch),
    /// The `#[distributed_lock]` of this name.
    Attribute(Arc<str>),
}

impl Matcher {
    /// Whether it is for the same requests, in whatever order its conditions are written, or for the same
    /// attribute.
    pub fn matches_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Route(ours), Self::Route(theirs)) => ours.covers(theirs) && theirs.covers(ours),
            (ours, theirs) => ours == theirs,
        }
    }
}

/// Conditions on a request. A missing condition matches every request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouteMatch {
    /// The methods. Empty for all.
    pub methods: Vec<Method>,
    /// The route; `None` for any.
    pub path: Option<PathPattern>,
    /// The host in the form in which it is compared.
    pub host: Option<String>,
    /// The headers that the request must have.
    pub headers: Vec<HeaderMatch>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderMatch {
    /// The name.
    pub name: HeaderName,
    /// The value; `None` for any.
    pub value: Option<String>,
}

/// The destination of a request.
#[derive(Debug, Clone, Copy)]
pub enum Way<'r> {
    /// The route that the router has matched, as written there.
    Route(&'r str),
    /// The request's path: no router has matched a route yet.
    Path(&'r str),
}

impl RouteMatch {
    /// Returns the condition that the request fails; `None` if it matches.
    pub fn mismatch(
        &self,
        method: &Method,
        way: Way<'_>,
        host: Option<&str>,
        headers: &HeaderMap,
    ) -> Option<&'static str> {
        let path = self.path.as_ref().is_none_or(|pattern| match way {
            Way::Route(route) => pattern.covers(route),
            Way::Path(path) => pattern.captures(path).is_some(),
        });
        let same_host = |wanted: &String| host.is_some_and(|host| *wanted == host_name(host));
        if !path {
            Some("path")
        } else if !self.methods.is_empty() && !self.methods.contains(method) {
            Some("method")
        } else if !self.host.as_ref().is_none_or(same_host) {
            Some("host")
        } else if !self.headers.iter().all(|header| header.is_in(headers)) {
            Some("header")
        } else {
            None
        }
    }

    /// Whether the path alone cannot decide a match: only the router knows whether another route
    /// takes the same path.
    pub fn needs_route(&self) -> bool {
        self.path.as_ref().is_some_and(|pattern| !pattern.has_rest())
    }

    /// Whether it matches every request that `other` matches.
    pub fn covers(&self, other: &Self) -> bool {
        let path = match (&self.path, &other.path) {
            (None, _) => true,
            (Some(ours), Some(theirs)) => ours.covers(theirs.as_str()),
            (Some(_), None) => false,
        };
        let methods = self.methods.is_empty()
            || (!other.methods.is_empty()
                && other.methods.iter().all(|method| self.methods.contains(method)));
        let host = self.host.is_none() || self.host == other.host;
        let headers = self.headers.iter().all(|ours| {
            let same = |theirs: &HeaderMatch| {
                ours.name == theirs.name && (ours.value.is_none() || ours.value == theirs.value)
            };
            other.headers.iter().any(same)
        });
        path && methods && host && headers
    }
}

impl HeaderMatch {
    fn is_in(&self, headers: &HeaderMap) -> bool {
        headers.get_all(&self.name).iter().any(|value| {
            self.value.as_ref().is_none_or(|wanted| value.as_bytes() == wanted.as_bytes())
        })
    }
}

/// Returns the one form of a host that RFC 9110 and DNS take for the same: in lower case, without the dot
/// of the root, percent-decoded, an IPv6 address in its shortest form.
pub(crate) fn host_name(host: &str) -> Cow<'_, str> {
    let inside = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(Ok(address)) = inside.map(str::parse::<Ipv6Addr>) {
        return format!("[{address}]").into();
    }
    let name = match percent_decode_str(host).decode_utf8() {
        Ok(decoded) => decoded,
        Err(_) => host.into(),
    };
    let is_plain = !name.ends_with('.') && !name.bytes().any(|byte| byte.is_ascii_uppercase());
    if is_plain {
        return name;
    }
    name.strip_suffix('.').unwrap_or(&name).to_ascii_lowercase().into()
}

/// Returns the host of a request without its port, from its URI or else its `Host` header.
pub fn host_of<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    uri.host().or_else(|| {
        let host = headers.get(HOST)?.to_str().ok()?;
        // The colons of an IPv6 address are inside brackets.
        let end = host.rfind(':').filter(|at| !host[*at..].contains(']'));
        Some(&host[..end.unwrap_or(host.len())])
    })
}
