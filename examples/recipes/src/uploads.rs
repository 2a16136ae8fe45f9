//! Uploads under a lock.
//!
//! By default the layer reads a body before it acquires the lock, up to the route's `DefaultBodyLimit`, so
//! that a slow client holds nothing. An upload that is too large for that is streamed under the lock.

use std::time::Duration;

use axum::{Router, body::Body, extract::DefaultBodyLimit, routing::put};
use futures_util::StreamExt;
use http::StatusCode;
use lock_tower::{KeyTemplateError, LockClient, RequestLockLayer, settings::RequestBody};

/// Writes the upload as it comes.
///
/// # Errors
///
/// The client has gone, or sends no valid body.
pub async fn upload(body: Body) -> Result<String, StatusCode> {
    let (mut chunks, mut bytes) = (body.into_data_stream(), 0);
    while let Some(chunk) = chunks.next().await {
        bytes += chunk.map_err(|_| StatusCode::BAD_REQUEST)?.len();
    }
    Ok(format!("{bytes} bytes"))
}

/// The service: small avatars are read first, videos are streamed. A video that is not there after ten
/// minutes is given up, and its lock is free.
///
/// # Errors
///
/// A template of a key is wrong.
pub fn router(locks: LockClient) -> Result<Router, KeyTemplateError> {
    let avatar = RequestLockLayer::new(locks.clone(), "avatar:{user:u64}")?
        .body_timeout(Duration::from_secs(5));
    let video = RequestLockLayer::new(locks, "video:{id:u64}")?
        .body(RequestBody::Stream)
        .max_hold(Duration::from_secs(10 * 60));
    let avatars = Router::new()
        .route("/users/{user}/avatar", put(upload))
        .route_layer(avatar)
        .layer(DefaultBodyLimit::max(256 * 1024)); // outside of the lock, which reads the body
    let videos = Router::new().route("/videos/{id}", put(upload)).route_layer(video);
    Ok(avatars.merge(videos))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http::Request;
    use lock_tower::Mode;
    use tokio::sync::mpsc;

    use super::*;
    use crate::testing::send;

    /// A body whose chunks the test sends.
    fn slow() -> (mpsc::UnboundedSender<&'static str>, Body) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let chunks = stream::unfold(receiver, async |mut receiver: mpsc::UnboundedReceiver<_>| {
            Some((Ok::<_, std::io::Error>(receiver.recv().await?), receiver))
        });
        (sender, Body::from_stream(chunks))
    }

    #[tokio::test]
    async fn a_slow_avatar_holds_no_lock_and_a_video_does() {
        let locks = LockClient::in_memory();
        let app = router(locks.clone()).unwrap();
        for (path, key, holds) in
            [("/users/7/avatar", "avatar:7", false), ("/videos/7", "video:7", true)]
        {
            let (sender, body) = slow();
            sender.send("half").unwrap();
            let upload = send(&app, Request::put(path), body);
            tokio::pin!(upload);
            // Polled until it waits for the rest of the body.
            for _ in 0..100 {
                assert!(futures_util::poll!(&mut upload).is_pending());
                tokio::task::yield_now().await;
            }
            assert_eq!(locks.is_locked(key, Mode::Write).await.unwrap(), holds, "{path}");
            sender.send(", and half").unwrap();
            drop(sender);
            assert_eq!(upload.await.text, "14 bytes");
        }
    }

    #[tokio::test]
    async fn an_avatar_has_a_limit() {
        let app = router(LockClient::in_memory()).unwrap();
        let answer = send(&app, Request::put("/users/7/avatar"), vec![0; 256 * 1024 + 1]).await;
        assert_eq!(answer.status, 413);
    }
}
