//! One editor of a document at a time, over a WebSocket.

use axum::{
    Router,
    extract::ws::{Message, WebSocket, WebSocketUpgrade},
    response::Response,
    routing::any,
};
use lock_tower::{
    KeyTemplateError, LockClient, LockRejection, Locked, RequestLockLayer, settings::LockMode,
};

/// The request ends with its 101, and its lock would end with it: the session keeps the lock for itself.
///
/// # Errors
///
/// The lock was lost meanwhile, or the store does not answer.
pub async fn edit(lock: Locked, upgrade: WebSocketUpgrade) -> Result<Response, LockRejection> {
    let guard = lock.keep().await?;
    Ok(upgrade.on_upgrade(async move |socket| {
        // A lost lock ends the session, and so its connection.
        if let Err(lost) = guard.protect(session(socket)).await {
            eprintln!("an editor's session ended: {lost}");
        }
    }))
}

async fn session(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        let saved = match message {
            Message::Text(change) => format!("saved: {change}"),
            Message::Close(_) => return,
            _ => continue,
        };
        if socket.send(saved.into()).await.is_err() {
            return;
        }
    }
}

/// The service. The request that opens a WebSocket is a `GET`, which would read.
///
/// # Errors
///
/// The template of the key is wrong.
pub fn router(locks: LockClient) -> Result<Router, KeyTemplateError> {
    let lock = RequestLockLayer::new(locks, "document:{id:u64}")?.mode(LockMode::Write);
    Ok(Router::new().route("/documents/{id}/edit", any(edit)).route_layer(lock))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::{SinkExt, StreamExt};
    use tokio::net::TcpListener;
    use tokio_tungstenite::{
        connect_async,
        tungstenite::{Error, Message},
    };

    use super::*;

    #[tokio::test]
    async fn a_document_has_one_editor() {
        let locks = LockClient::builder().wait(Duration::ZERO).in_memory();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/documents/7/edit", listener.local_addr().unwrap());
        let app = router(locks.clone()).unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });

        let (mut editor, _) = connect_async(&url).await.unwrap();
        editor.send(Message::text("a title")).await.unwrap();
        let saved = editor.next().await.unwrap().unwrap();
        assert_eq!(saved, Message::text("saved: a title"));

        let Err(Error::Http(refused)) = connect_async(&url).await else {
            panic!("a second editor came in");
        };
        assert_eq!(refused.status(), 423);

        editor.close(None).await.unwrap();
        // Free as soon as the session has ended, which is a moment after the close.
        let next = locks.write("document:7").wait(Duration::from_secs(10)).acquire().await;
        assert!(next.is_ok(), "{next:?}");
    }
}
