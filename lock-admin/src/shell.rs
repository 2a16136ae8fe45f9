//! The page around its content.

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, header::CONTENT_SECURITY_POLICY};
use lock_core::__private::visible;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use uuid::Uuid;

use super::query::Subject;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole page. Its script renews the content by server-sent events.
pub(crate) fn page(subject: &Subject, content: Markup, release_allowed: bool) -> Response {
    let (title, prefix, key) = match subject {
        Subject::List { prefix, .. } => ("Locks", prefix.as_str(), None),
        Subject::Lock { key } => (key.as_str(), "", Some(key)),
    };
    let body = html! {
        header {
            h1 { a href="?" { "Locks" } }
            form role="search" method="get" action="?" {
                input type="search" name="prefix" value=(prefix) placeholder="prefix, such as order:"
                    aria-label="prefix of the keys";
                button { "Search" }
            }
            span #state role="status" { "" }
        }
        main {
            @if let Some(key) = key {
                p .back { a href="?" { "All locks" } }
                div .title {
                    h2 { code { (visible(key)) } }
                    @if release_allowed { (release(key)) }
                }
            }
            div #content { (content) }
        }
    };
    whole(title, body, true)
}

/// A page that shows only a reason.
pub(crate) fn refused(title: &str, detail: &str) -> Response {
    let body = html! {
        header { h1 { a href="?" { "Locks" } } }
        main { h2 { (title) } p .bad { (visible(detail)) } }
    };
    whole(title, body, false)
}

/// Content while the store does not answer.
pub(crate) fn not_read(why: &str) -> Markup {
    html! { p .bad { "Not read: " (visible(why)) } }
}

/// The buttons are above the content: a button must not move under a pointer when the content is
/// renewed.
fn release(key: &str) -> Markup {
    html! {
        div #release data-key=(key) hidden {
            button #request { "Request release" }
            button #force .danger { "Take away by force …" }
            p #outcome role="status" { "" }
            dialog #confirm aria-labelledby="confirm-title" {
                h2 #confirm-title { "Take this lock away?" }
                p { code { (visible(key)) } }
                p {
                    "Every holder loses the lock now, and the next waiter may get it. The holders are \
                     notified and their requests cancelled, but a holder that is paused or cut off may \
                     still write. Only a resource that checks fencing tokens refuses it."
                }
                p { "If it is enough that the holder ends in its own time, request a release instead." }
                div .buttons {
                    button #keep autofocus { "Keep it" }
                    button #confirmed .danger { "Take it away" }
                }
            }
        }
        noscript { p { "Releasing a lock needs JavaScript, or " code { "lockctl release" } "." } }
    }
}

fn whole(title: &str, body: Markup, live: bool) -> Response {
    // Nothing from elsewhere, and no script but this one: a key cannot add any.
    let nonce = Uuid::new_v4().simple().to_string();
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (visible(title)) }
                style nonce=(nonce) { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                @if live { script nonce=(nonce) { (PreEscaped(SCRIPT)) } }
            }
        }
    };
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    let mut response = Html(document.into_string()).into_response();
    let policy = HeaderValue::try_from(policy).expect("BUG: hexadecimal digits");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response
}
