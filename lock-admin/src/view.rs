//! Answers `GET`: the page, its JSON, its events.

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Request, header::CONTENT_TYPE, request::Parts};
use maud::Markup;

use super::{
    access::{AdminAction, AdminRequest},
    answer::Refusal,
    list_view, live, lock_view,
    query::{self, Format, Subject},
    reader::{NotRead, Page, Reader},
    shell,
};

const SCHEMA: &str = include_str!("../schema.json");

pub(crate) async fn view(State(reader): State<Arc<Reader>>, request: Request<Body>) -> Response {
    let (parts, _) = request.into_parts();
    let answer = match query::parse(&parts) {
        Ok((subject, format)) => match may_look(&reader, &parts, &subject) {
            Ok(()) => answer(reader, subject, format).await,
            Err(why) => Err(why.in_format(format)),
        },
        Err(why) => Err(why),
    };
    answer.unwrap_or_else(IntoResponse::into_response)
}

fn may_look(reader: &Reader, parts: &Parts, subject: &Subject) -> Result<(), Refusal> {
    reader.access.check_host(parts)?;
    let key = match subject {
        Subject::List { prefix, .. } => prefix,
        Subject::Lock { key } => key,
    };
    reader.access.check(&AdminRequest { parts, key, action: AdminAction::Look }).map(drop)
}

async fn answer(
    reader: Arc<Reader>,
    subject: Subject,
    format: Format,
) -> Result<Response, Refusal> {
    match format {
        Format::Events => return Ok(live::events(reader, subject)?.into_response()),
        Format::Schema => {
            let json = HeaderValue::from_static("application/schema+json");
            return Ok(([(CONTENT_TYPE, json)], SCHEMA).into_response());
        }
        Format::Html | Format::Json => {}
    }
    let seen = reader.read(&subject).await.map_err(|why| match why {
        NotRead::Store(why) => Refusal::not_read(&why, format),
        NotRead::TooMany => Refusal::too_many(format),
    })?;
    Ok(match format {
        Format::Json => Json(&*seen).into_response(),
        _ => {
            shell::page(&subject, content(&subject, &seen), reader.release_allowed).into_response()
        }
    })
}

/// The part of the page that changes.
pub(crate) fn content(subject: &Subject, page: &Page) -> Markup {
    match page {
        Page::List(list) => list_view::content(subject, list),
        Page::Lock(lock) => lock_view::content(lock),
    }
}
