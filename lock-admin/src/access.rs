//! Which requests the page answers.

use std::{fmt, sync::Arc};

use http::{HeaderMap, Uri, header::HOST, request::Parts};

use super::answer::Refusal;

/// The action of a request to the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdminAction {
    /// Shows locks.
    Look,
    /// Requests that the holders release a lock.
    RequestRelease,
    /// Takes a lock away from its holders.
    Force,
}

/// A request to the page: for [`AdminRouter::authorize`](super::AdminRouter::authorize).
#[derive(Debug)]
#[non_exhaustive]
pub struct AdminRequest<'r> {
    /// The request without its body, with the extensions that an authentication layer outside has
    /// added.
    pub parts: &'r Parts,
    /// The lock's key; of a list the prefix of the keys.
    pub key: &'r str,
    /// The requested action.
    pub action: AdminAction,
}

type Authorize = dyn Fn(&AdminRequest<'_>) -> Result<String, String> + Send + Sync;

/// The checks of the router. Without any it lets every request pass.
#[derive(Clone, Default)]
pub(crate) struct Access {
    pub(crate) authorize: Option<Arc<Authorize>>,
    /// As they are compared; empty for all.
    pub(crate) hosts: Vec<String>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Access {
    /// Refuses a request for another host than those that were named: a name of an attacker that DNS leads
    /// here would make its page one of the same origin.
    pub(crate) fn check_host(&self, parts: &Parts) -> Result<(), Refusal> {
        let host = host(&parts.uri, &parts.headers);
        let is_named = |host: &str| self.hosts.iter().any(|named| named.eq_ignore_ascii_case(host));
        if self.hosts.is_empty() || host.is_some_and(is_named) {
            return Ok(());
        }
        Err(Refusal::forbidden("The page has another host than that of this request."))
    }

    /// Returns the operator's name, if the service gives it.
    pub(crate) fn check(&self, request: &AdminRequest<'_>) -> Result<Option<String>, Refusal> {
        let Some(authorize) = &self.authorize else { return Ok(None) };
        authorize(request).map(Some).map_err(|why| Refusal::forbidden(&why))
    }
}

/// Refuses what a page of another site sends. Browsers that are too old for `Sec-Fetch-Site` send `Origin`.
pub(crate) fn check_same_site(parts: &Parts) -> Result<(), Refusal> {
    let site = parts.headers.get("sec-fetch-site").map(http::HeaderValue::as_bytes);
    let is_foreign = site.is_some_and(|site| !matches!(site, b"same-origin" | b"none"));
    let origin = parts.headers.get("origin").map(|origin| origin.to_str().unwrap_or_default());
    // The scheme is not known here: a proxy may end TLS.
    let origin =
        origin.map(|origin| origin.split_once("://").map_or("", |(_, authority)| authority));
    let own = host_and_port(&parts.uri, &parts.headers).unwrap_or_default();
    if is_foreign || origin.is_some_and(|origin| !origin.eq_ignore_ascii_case(own)) {
        return Err(Refusal::forbidden("The request comes from another site."));
    }
    Ok(())
}

fn host_and_port<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    let of_uri = uri.authority().map(http::uri::Authority::as_str);
    of_uri.or_else(|| headers.get(HOST)?.to_str().ok())
}

fn host<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    let authority = host_and_port(uri, headers)?;
    let end = authority.rfind(':').filter(|at| !authority[*at..].contains(']'));
    Some(&authority[..end.unwrap_or(authority.len())])
}
