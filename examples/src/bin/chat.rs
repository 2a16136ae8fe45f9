//! One turn per conversation, streamed: a new message replaces the turn that runs.
//!
//! ```text
//! REDIS_URL=redis://127.0.0.1/ PORT=3000 cargo run -p examples --bin chat
//! curl -N -H 'x-user: ann' -d 'tell me a story' http://127.0.0.1:3000/chats/7
//! ```
//!
//! The turn holds `chat:{user}:{id}` until its stream has ended, in every replica. While it waits for the
//! turn before it, the stream already sends comments, so that no proxy ends the connection. A client that
//! disconnects cancels its turn: the stream is dropped, and the lock with it. Without `REDIS_URL` the
//! locks are in memory.

use std::{
    collections::HashMap,
    convert::Infallible,
    env,
    error::Error,
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::sse::{Event, KeepAlive, Sse},
    routing::post,
};
use futures_util::{Stream, StreamExt, stream};
use lock_tower::{
    AcquireError, FencingToken, LockClient, LockGuard,
    key::{KeyWriter, PlaceholderType},
};
use tokio::{net::TcpListener, time::sleep};

#[derive(Clone)]
struct Chat {
    locks: LockClient,
    /// In place of a database: see [`save`].
    answers: Arc<Mutex<HashMap<String, (FencingToken, String)>>>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let locks = match env::var("REDIS_URL") {
        Ok(url) => LockClient::connect(&url).await?,
        Err(_) => LockClient::in_memory(),
    };
    let chat = Chat { locks, answers: Arc::default() };
    let router = Router::new().route("/chats/{id}", post(say).get(answer)).with_state(chat);
    let port = env::var("PORT").map_or(Ok(3000), |port| port.parse())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}

/// The conversation's lock. The user is a part of it: a message of another user replaces nothing.
fn key(headers: &HeaderMap, id: u64) -> Result<String, StatusCode> {
    // A service has it from its session or token.
    let user = headers.get("x-user").and_then(|user| user.to_str().ok());
    let mut key = KeyWriter::new();
    key.literal("chat:");
    let user = user.ok_or(StatusCode::UNAUTHORIZED)?;
    key.value("user", PlaceholderType::Text, user).map_err(|_| StatusCode::BAD_REQUEST)?;
    key.literal(&format!(":{id}"));
    key.finish().map_err(|_| StatusCode::BAD_REQUEST)
}

async fn say(
    State(chat): State<Chat>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    message: String,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, StatusCode> {
    let key = key(&headers, id)?;
    let lock = chat.locks.write(key).replace_after(Duration::from_secs(2));
    let lock = lock.max_hold(Duration::from_secs(120)).acquire();
    let turn = async move {
        match lock.await {
            Ok(guard) => words(chat, guard, &message).left_stream(),
            Err(AcquireError::Replaced { .. }) => {
                stream::iter([said("replaced", "")]).right_stream()
            }
            Err(refused) => stream::iter([said("refused", &refused.to_string())]).right_stream(),
        }
    };
    // The response begins at once, and the stream waits for the lock.
    let events = stream::once(turn).flatten().map(Ok);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(1))))
}

/// The answer of a model, word by word, for as long as the lock is held and no newer message has come.
fn words(chat: Chat, guard: LockGuard, message: &str) -> impl Stream<Item = Event> + use<> {
    let words: Vec<String> = message.split_whitespace().map(str::to_owned).rev().collect();
    let turn = Some((chat, guard, words.into_iter(), String::new()));
    stream::unfold(turn, |turn| async {
        let (chat, guard, mut words, mut text) = turn?;
        let next = guard.protect(async {
            sleep(Duration::from_millis(200)).await;
            words.next()
        });
        match next.await {
            Ok(Some(word)) => {
                text += &format!("{word} ");
                Some((said("word", &word), Some((chat, guard, words, text))))
            }
            Ok(None) => {
                let saved = save(&chat, &guard, text);
                Some((said("done", if saved { "saved" } else { "too late" }), None))
            }
            // The guard is dropped with the turn, and the lock passes to the newer message.
            Err(lost) => Some((said("replaced", &lost.cause().to_string()), None)),
        }
    })
}

/// Keeps the answer, unless a later turn has: `UPDATE chats SET answer = $1, fence = $2 WHERE id = $3 AND
/// fence <= $2` in a database. A process that was paused writes nothing over a newer answer.
fn save(chat: &Chat, guard: &LockGuard, text: String) -> bool {
    let mut answers = chat.answers.lock().unwrap_or_else(PoisonError::into_inner);
    let row = answers.entry(guard.key().to_string()).or_insert((FencingToken::NONE, String::new()));
    if row.0 > guard.fencing_token() {
        return false;
    }
    *row = (guard.fencing_token(), text);
    true
}

async fn answer(
    State(chat): State<Chat>,
    Path(id): Path<u64>,
    headers: HeaderMap,
) -> Result<String, StatusCode> {
    let answers = chat.answers.lock().unwrap_or_else(PoisonError::into_inner);
    let row = answers.get(&key(&headers, id)?).ok_or(StatusCode::NOT_FOUND)?;
    Ok(row.1.clone())
}

fn said(event: &str, data: &str) -> Event {
    Event::default().event(event).data(data)
}
