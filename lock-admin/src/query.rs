//! The query of a request for a page.

use axum::extract::Query;
use http::{HeaderMap, header::ACCEPT, request::Parts};
use serde::Deserialize;

use super::answer::Refusal;

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Html,
    Json,
    Events,
    Schema,
}

#[derive(Debug, Deserialize)]
struct Text {
    key: Option<String>,
    #[serde(default)]
    prefix: String,
    after: Option<String>,
    limit: Option<usize>,
    format: Option<Format>,
}

/// A query to the store. Requests for the same subject share one answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    List { prefix: String, after: Option<String>, limit: usize },
    Lock { key: String },
}

impl Subject {
    /// Whether it is the list that the page begins with.
    pub(crate) fn is_whole_list(&self) -> bool {
        matches!(self, Self::List { prefix, after: None, .. } if prefix.is_empty())
    }
}

pub(crate) fn parse(parts: &Parts) -> Result<(Subject, Format), Refusal> {
    let format = by_header(&parts.headers);
    let Query(query) = Query::<Text>::try_from_uri(&parts.uri)
        .map_err(|why| Refusal::bad_request(why.body_text(), format))?;
    let format = query.format.unwrap_or(format);
    if let Some(key) = query.key.filter(|key| !key.is_empty()) {
        return Ok((Subject::Lock { key }, format));
    }
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let after = query.after.filter(|after| !after.is_empty());
    Ok((Subject::List { prefix: query.prefix, after, limit }, format))
}

/// A browser accepts everything, HTML by name.
fn by_header(headers: &HeaderMap) -> Format {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let accepts = |media_type: &str| {
        accept
            .split(',')
            .any(|one| one.split(';').next().is_some_and(|one| one.trim() == media_type))
    };
    match accept {
        _ if accepts("text/html") => Format::Html,
        _ if accepts("text/event-stream") => Format::Events,
        _ if accepts("application/json") => Format::Json,
        _ => Format::Html,
    }
}

/// A link to the same page with this query: the page does not know where it is mounted.
pub(crate) fn link(fields: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::for_suffix("?".to_owned(), 1);
    query.extend_pairs(fields.iter().filter(|(_, value)| !value.is_empty()));
    query.finish()
}
