//! Server-sent events under a lock: one reader of a feed at a time.

use std::{convert::Infallible, time::Duration};

use axum::{
    Router,
    response::sse::{Event, KeepAlive, Sse},
    routing::get,
};
use futures_util::{Stream, StreamExt, stream};
use lock_tower::{
    KeyTemplateError, LockClient, RequestLockLayer,
    settings::{HoldUntil, LockMode},
};

/// The answer's head is sent at once, and the lock is held until the stream has ended.
pub async fn follow() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = stream::iter(0..3).map(|number| Ok(Event::default().data(number.to_string())));
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// The service. Without `max_hold` a client that stops to read would keep the lock for as long as its
/// connection lives; with it the stream ends with an error, and the client connects again.
///
/// # Errors
///
/// The template of the key is wrong.
pub fn router(locks: LockClient) -> Result<Router, KeyTemplateError> {
    let lock = RequestLockLayer::new(locks, "feed:{id:u64}")?
        .mode(LockMode::Write) // a `GET` would read
        .hold_until(HoldUntil::Body)
        .max_hold(Duration::from_secs(15 * 60));
    Ok(Router::new().route("/feeds/{id}", get(follow)).route_layer(lock))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;
    use crate::testing::send;

    #[tokio::test]
    async fn a_feed_is_followed_by_one_client() {
        let app = router(LockClient::builder().wait(Duration::ZERO).in_memory()).unwrap();
        let request = Request::get("/feeds/7").body(Body::empty()).unwrap();
        let following = app.clone().oneshot(request).await.unwrap();
        assert_eq!(following.status(), 200);
        assert_eq!(send(&app, Request::get("/feeds/7"), "").await.status, 423);

        let events = following.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(events, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
        assert_eq!(send(&app, Request::get("/feeds/7"), "").await.status, 200);
    }
}
