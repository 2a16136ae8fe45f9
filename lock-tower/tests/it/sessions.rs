//! One session in several tabs, with tower-sessions.

use std::{sync::Arc, time::Duration};

use axum::{Router, extract::State, routing::get};
use http::{
    HeaderValue, Request, StatusCode,
    header::{COOKIE, SET_COOKIE},
};
use lock_tower::{LockClient, RequestLockLayer};
use tokio::sync::Barrier;
use tower_sessions::{MemoryStore, Session, SessionManagerLayer};

use crate::common::{Answer, call, send};

/// Where two requests meet that run at once; how many pass it without.
type Meeting = Arc<Barrier>;

async fn cart(session: &Session) -> Vec<u32> {
    session.get("cart").await.unwrap().unwrap_or_default()
}

/// Reads the cart, and changes it when every other request has had the time to read it too.
async fn add(session: Session) -> StatusCode {
    let mut items = cart(&session).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    items.push(1);
    session.insert("cart", items).await.unwrap();
    StatusCode::OK
}

async fn count(session: Session) -> String {
    cart(&session).await.len().to_string()
}

async fn meet(State(meeting): State<Meeting>) -> StatusCode {
    meeting.wait().await;
    StatusCode::OK
}

fn sessions() -> Router {
    Router::new()
        .route("/cart", get(count).post(add))
        .route("/meet", get(meet))
        .with_state(Arc::new(Barrier::new(2)))
        .layer(SessionManagerLayer::new(MemoryStore::default()).with_secure(false))
}

/// A request of a browser that has this cookie.
async fn of_tab(app: &Router, method: &str, path: &str, cookie: &HeaderValue) -> Answer {
    let request = Request::builder().method(method).uri(path).header(COOKIE, cookie);
    send(app, request.body(axum::body::Body::empty()).unwrap()).await
}

/// Opens a session, and returns its cookie.
async fn opened(app: &Router) -> HeaderValue {
    let answer = call(app, "POST", "/cart").await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let cookie = answer.headers[SET_COOKIE].to_str().unwrap();
    HeaderValue::from_str(cookie.split(';').next().unwrap()).unwrap()
}

/// Adds items in several tabs at once, and returns how many the cart has then.
async fn add_in_tabs(app: &Router, tabs: usize) -> String {
    let cookie = opened(app).await;
    let adding = (0..tabs).map(|_| of_tab(app, "POST", "/cart", &cookie));
    for answer in futures_util::future::join_all(adding).await {
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }
    of_tab(app, "GET", "/cart", &cookie).await.text
}

#[tokio::test(start_paused = true)]
async fn tabs_do_not_overwrite_each_other() {
    assert_eq!(add_in_tabs(&sessions(), 8).await, "2", "without a lock all but one are lost");
    let locks = LockClient::in_memory();
    let app = sessions().layer(RequestLockLayer::session(locks, "id").unwrap());
    assert_eq!(add_in_tabs(&app, 8).await, "9");
}

/// The session's layer finds the session by each of these, so each has to wait for the others.
#[tokio::test(start_paused = true)]
async fn every_spelling_of_the_cookie_locks_the_session() {
    let locks = LockClient::in_memory();
    let app = sessions().layer(RequestLockLayer::session(locks, "id").unwrap());
    let cookie = opened(&app).await;
    let id = cookie.to_str().unwrap().strip_prefix("id=").unwrap();
    let encoded: String = id.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let spellings = [
        format!("id={id}"),
        format!("%69d={id}"),
        format!("i%64={encoded}"),
        format!("%69%64={}", encoded.to_uppercase()),
        format!("a=%ff; id = {id} ;b"),
        format!("a=\u{f6}; id={id}"),
        // The session's layer does not find the second one.
        format!("id={id}; id=%ff"),
    ];
    let spellings = spellings.map(|spelling| HeaderValue::try_from(spelling).unwrap());
    let adding = spellings.iter().map(|cookie| of_tab(&app, "POST", "/cart", cookie));
    for answer in futures_util::future::join_all(adding).await {
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }
    assert_eq!(of_tab(&app, "GET", "/cart", &cookie).await.text, "8");
}

#[tokio::test(start_paused = true)]
async fn requests_that_read_share_a_session() {
    let locks = LockClient::in_memory();
    let app = sessions().layer(RequestLockLayer::session(locks, "id").unwrap());
    let cookie = opened(&app).await;
    let [one, other] = [(); 2].map(|()| of_tab(&app, "GET", "/meet", &cookie));
    let (one, other) = tokio::join!(one, other);
    assert_eq!([one.status, other.status], [StatusCode::OK; 2]);
}

#[tokio::test(start_paused = true)]
async fn sessions_do_not_wait_for_each_other() {
    let locks = LockClient::in_memory();
    let lock = RequestLockLayer::session(locks.clone(), "id").unwrap().wait(Duration::ZERO);
    let app = sessions().layer(lock);
    let [one, other] = [opened(&app).await, opened(&app).await];
    let [one, other] = [one, other].map(|cookie| {
        let app = app.clone();
        async move { of_tab(&app, "POST", "/cart", &cookie).await.status }
    });
    assert_eq!(tokio::join!(one, other), (StatusCode::OK, StatusCode::OK));
}

#[tokio::test]
async fn the_key_does_not_show_the_session() {
    let locks = LockClient::in_memory();
    let app = sessions().layer(RequestLockLayer::session(locks.clone(), "id").unwrap());
    let cookie = opened(&app).await;
    let meets = of_tab(&app, "GET", "/meet", &cookie);
    let look = async {
        loop {
            let keys = locks.list("", 10).await.unwrap().keys;
            if let [key] = &keys[..] {
                break key.to_string();
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::pin!(meets);
    let key = tokio::select! {
        answer = &mut meets => panic!("it waits for another request: {answer:?}"),
        key = look => key,
    };
    assert!(key.starts_with("session:"), "{key}");
    let id = cookie.to_str().unwrap().strip_prefix("id=").unwrap();
    assert!(!key.contains(id), "{key}");
}

#[tokio::test]
async fn bad_requests_and_bad_places() {
    let locks = LockClient::in_memory();
    let layer = |name| RequestLockLayer::session(locks.clone(), name);
    let app = sessions().layer(layer("id").unwrap());
    // No session yet.
    assert_eq!(call(&app, "GET", "/cart").await.text, "0");
    // An id that is none: a new session, as without the lock.
    let malformed = HeaderValue::from_static("id=nonsense");
    assert_eq!(of_tab(&app, "GET", "/cart", &malformed).await.text, "0");
    // Two of them: which one the session's layer takes is not known.
    let twice = HeaderValue::from_static("id=a; id=b");
    of_tab(&app, "GET", "/cart", &twice).await.assert_problem(400, "lock-key-invalid");

    assert!(layer("").is_err());
    assert!(layer("a}b").is_err());

    let inside = Router::new()
        .route("/cart", get(count))
        .layer(layer("id").unwrap())
        .layer(SessionManagerLayer::new(MemoryStore::default()));
    call(&inside, "GET", "/cart").await.assert_problem(500, "lock-misconfigured");
}
