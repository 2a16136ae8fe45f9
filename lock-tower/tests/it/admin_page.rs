//! The page for operators, without a browser: `lock-tests`, `admin`, drives it in one.

use std::time::Duration;

use axum::{Router, body::Body, http::request::Builder};
use http::{Request, StatusCode};
use lock_tower::{
    LockClient, MemoryStore,
    admin::{self, AdminAction},
};
use serde_json::{Value, json};

use tower::ServiceExt;

use crate::common::{Answer, NEVER, call, logs::Logs, send};

const HEADER: (&str, &str) = ("x-lock-admin", "release");

/// A service with the page, and a client of another process.
fn page(release: bool) -> (Router, LockClient) {
    let store = MemoryStore::new();
    let own = LockClient::builder().in_memory_on(&store);
    let page = admin::router(own);
    let page = if release { page.allow_release() } else { page };
    let app = Router::new().nest("/admin/locks", page.into_unprotected_router());
    (app, LockClient::builder().in_memory_on(&store))
}

async fn json(app: &Router, query: &str) -> Value {
    let answer = call(app, "GET", &format!("/admin/locks?format=json&{query}")).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    serde_json::from_str(&answer.text).unwrap()
}

fn post(app: &str) -> Builder {
    Request::builder().method("POST").uri(app)
}

async fn release(app: &Router, request: Builder, body: &str) -> Answer {
    send(app, request.body(Body::from(body.to_owned())).unwrap()).await
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_listed_while_it_is_held() {
    let (app, locks) = page(false);
    let empty = call(&app, "GET", "/admin/locks").await;
    assert!(empty.text.contains("No lock is held"), "{}", empty.text);
    let guard = locks.write("order:42").acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let shown = call(&app, "GET", "/admin/locks").await;
    assert_eq!(shown.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(shown.headers["cache-control"], "no-store");
    assert!(shown.text.contains(r#"<a href="?key=order%3A42">order:42</a>"#), "{}", shown.text);
    let lock = json(&app, "key=order:42").await;
    assert_eq!(lock["mode"], "write");
    assert_eq!(lock["holders"].as_array().unwrap().len(), 1);
    guard.release().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(json(&app, "").await["locks"], json!([]));
}

// On the real clock: ages are by the clocks of the hosts.
#[tokio::test]
async fn waiters_are_shown_with_their_ages_and_the_longest_first() {
    let (app, locks) = page(false);
    let mut held = Vec::new();
    // The key that is last in the list has the longest wait.
    for (known, key) in ["b", "a"].into_iter().enumerate() {
        held.push(locks.fair(key).lease(NEVER).acquire().await.unwrap());
        let waiting = locks.fair(key).wait(NEVER).acquire();
        tokio::spawn(async move { drop(waiting.await) });
        while json(&app, "").await["longest_waits"].as_array().unwrap().len() == known {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    let list = json(&app, "").await;
    let keys: Vec<_> = list["locks"].as_array().unwrap().iter().map(|row| &row["key"]).collect();
    assert_eq!(keys, ["a", "b"]);
    let waits = list["longest_waits"].as_array().unwrap();
    assert_eq!((&waits[0]["key"], &waits[1]["key"]), (&json!("b"), &json!("a")), "{waits:?}");
    assert!(waits[0]["age_ms"].as_u64() > waits[1]["age_ms"].as_u64(), "{waits:?}");
    let lock = call(&app, "GET", "/admin/locks?key=b").await.text;
    assert!(lock.contains("Waiters, in order"), "{lock}");
}

#[tokio::test(start_paused = true)]
async fn pages_and_prefixes_bound_the_list() {
    let (app, locks) = page(false);
    let mut guards = Vec::new();
    for number in 0..30 {
        guards.push(locks.read(format!("order:{number:02}")).acquire().await.unwrap());
    }
    guards.push(locks.read("report").acquire().await.unwrap());
    let first = json(&app, "prefix=order:&limit=20").await;
    assert_eq!(first["locks"].as_array().unwrap().len(), 20);
    let html = call(&app, "GET", "/admin/locks?prefix=order:&limit=20").await.text;
    assert!(html.contains("?prefix=order%3A&amp;limit=20&amp;after=order%3A19"), "{html}");
    let after = first["next"].as_str().unwrap();
    let second = json(&app, &format!("prefix=order:&limit=20&after={after}")).await;
    assert_eq!(second["locks"].as_array().unwrap().len(), 10);
    assert_eq!(second["next"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_key_with_html_stays_text() {
    let (app, locks) = page(true);
    let key = r#"<img src=x onerror="alert(1)">'&"#;
    let _guard = locks.write(key).name("<script>alert(2)</script>").acquire().await.unwrap();
    // Until it is written down what it is for.
    tokio::time::sleep(Duration::from_secs(15)).await;
    let list = call(&app, "GET", "/admin/locks").await;
    let link = "?key=%3Cimg+src%3Dx+onerror%3D%22alert%281%29%22%3E%27%26";
    let lock = call(&app, "GET", &format!("/admin/locks{link}")).await;
    for page in [&list, &lock] {
        assert!(page.text.contains("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"), "{page:?}");
        assert!(page.text.contains("&lt;script&gt;alert(2)"), "{page:?}");
        assert!(!page.text.contains("<img") && !page.text.contains("<script>alert"), "{page:?}");
        // And if it did not, the browser would not run it.
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("'nonce-"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    assert!(list.text.contains(link), "{list:?}");
}

/// A key that turns the text of the page around would look like another one.
#[tokio::test(start_paused = true)]
async fn a_key_that_turns_the_text_around_is_shown_by_its_codes() {
    let (app, locks) = page(true);
    let _guard = locks.write("order:\u{202e}7").name("\u{2066}up").acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(15)).await;
    let list = call(&app, "GET", "/admin/locks").await;
    let lock = call(&app, "GET", "/admin/locks?key=order%3A%E2%80%AE7").await;
    for page in [&list, &lock] {
        assert!(page.text.contains(r"order:\u{202e}7<"), "{page:?}");
        assert!(page.text.contains(r"\u{2066}up"), "{page:?}");
        assert!(!page.text.contains('\u{2066}'), "{page:?}");
    }
    assert!(!list.text.contains('\u{202e}'), "{list:?}");
    // The script sends back the key itself.
    assert!(lock.text.contains("data-key=\"order:\u{202e}7\""), "{lock:?}");
}

#[tokio::test(start_paused = true)]
async fn the_page_is_renewed_by_events_that_end() {
    let (app, locks) = page(false);
    let _guard = locks.write("order:42").acquire().await.unwrap();
    let request = Request::builder().uri("/admin/locks").header("accept", "text/event-stream");
    let answer = send(&app, request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let events = answer.text.matches("order:42</a>").count();
    assert_eq!(events, 5, "{}", answer.text);
    assert!(!answer.text.contains("<html"), "only what changes");
}

#[tokio::test(start_paused = true)]
async fn what_was_read_is_shared_for_a_second() {
    let store = MemoryStore::new();
    let app: Router =
        admin::router(LockClient::builder().in_memory_on(&store)).into_unprotected_router();
    let locks = LockClient::builder().in_memory_on(&store);
    let count = async || {
        let answer = call(&app, "GET", "/?format=json").await;
        let list: Value = serde_json::from_str(&answer.text).unwrap();
        list["locks"].as_array().unwrap().len()
    };
    assert_eq!(count().await, 0);
    let _guard = locks.write("a").acquire().await.unwrap();
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(count().await, 0, "not read again");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(count().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_holder_is_requested_to_release_or_loses_its_lock() {
    let (app, locks) = page(true);
    let html = call(&app, "GET", "/admin/locks?key=k").await.text;
    assert!(html.contains("id=\"force\""), "{html}");
    let guard = locks.write("k").acquire().await.unwrap();
    let with_header = || post("/admin/locks").header(HEADER.0, HEADER.1);
    let answer = release(&app, with_header(), r#"{"key":"k","action":"request"}"#).await;
    let document: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(document, json!({ "key": "k", "action": "request", "requested": 1 }));
    guard.release_requested().await;
    assert!(guard.is_held());
    let answer = release(&app, with_header(), r#"{"key":"k","action":"force"}"#).await;
    let document: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!((answer.status, &document["was_held"]), (StatusCode::OK, &json!(true)));
    assert!(document["fencing_token"].as_u64() > Some(guard.fencing_token().get()));
    guard.lost().await;
    assert_eq!(json(&app, "").await["locks"], json!([]), "read again at once");
}

#[tokio::test(start_paused = true)]
async fn a_release_needs_the_right_and_the_header() {
    let body = r#"{"key":"k","action":"force"}"#;
    let (read_only, locks) = page(false);
    let _guard = locks.write("k").acquire().await.unwrap();
    let answer = release(&read_only, post("/admin/locks").header(HEADER.0, HEADER.1), body).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(answer.problem()["detail"].as_str().unwrap().contains("allow_release"), "{answer:?}");
    let html = call(&read_only, "GET", "/admin/locks?key=k").await.text;
    assert!(!html.contains("id=\"force\""), "{html}");

    let (app, locks) = page(true);
    let guard = locks.write("k").acquire().await.unwrap();
    // As a form of another site would send it, and a script there with a browser of today.
    let by_form = post("/admin/locks").header("content-type", "application/x-www-form-urlencoded");
    let by_script = post("/admin/locks").header(HEADER.0, HEADER.1);
    for request in [by_form, by_script.header("sec-fetch-site", "cross-site")] {
        let answer = release(&app, request, body).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{answer:?}");
    }
    let preflight = Request::builder()
        .method("OPTIONS")
        .uri("/admin/locks")
        .header("origin", "https://elsewhere.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", HEADER.0);
    let answer = send(&app, preflight.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control")));
    assert!(guard.is_held());
}

#[tokio::test(start_paused = true)]
async fn bad_input_is_answered_with_what_was_wrong() {
    let (app, _) = page(true);
    let refused = async |query: &str| {
        let answer = call(&app, "GET", &format!("/admin/locks?format=json&{query}")).await;
        (answer.status.as_u16(), answer.problem()["detail"].as_str().unwrap().to_owned())
    };
    let long = format!("key={}", "k".repeat(600));
    assert_eq!(refused(&long).await.0, 400);
    assert_eq!(refused("key=a%00b").await.0, 400);
    let page = call(&app, "GET", "/admin/locks?limit=many").await;
    assert!(page.status == 400 && page.text.contains("limit"), "{page:?}");
    let page = call(&app, "GET", "/admin/locks?key=a%00b").await;
    assert!(page.status == 400 && page.text.contains("<html"), "{page:?}");
    for body in ["", "{}", r#"{"key":"k"}"#, r#"{"key":"k","action":"steal"}"#, "[1", "\u{0}"] {
        let answer = release(&app, post("/admin/locks").header(HEADER.0, HEADER.1), body).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        let detail = answer.problem()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(r#""action": "request" | "force""#), "{detail}");
    }
    let huge = format!(r#"{{"key":"{}","action":"force"}}"#, "k".repeat(20_000));
    let answer = release(&app, post("/admin/locks").header(HEADER.0, HEADER.1), &huge).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_is_named() {
    let store = MemoryStore::new();
    let app: Router =
        admin::router(LockClient::builder().in_memory_on(&store)).into_unprotected_router();
    store.set_down(true);
    let answer = call(&app, "GET", "/").await;
    assert_eq!(answer.status, 503);
    assert!(answer.text.contains("The lock store does not answer"), "{answer:?}");
    let answer = call(&app, "GET", "/?format=json").await;
    assert_eq!(answer.problem()["status"], 503);
    let events = call(&app, "GET", "/?format=events").await;
    assert!(events.status == 200 && events.text.contains("Not read: "), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn refusals_are_counted() {
    let (app, locks) = page(false);
    let own = admin_client_refusals(&app).await;
    assert_eq!(own, 0);
    let _guard = locks.write("k").acquire().await.unwrap();
    // Of another client: the page shows only its own client's locks.
    assert!(locks.write("k").try_acquire().await.is_err());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(admin_client_refusals(&app).await, 0);
    assert_eq!(locks.recent_events().refused.iter().sum::<u32>(), 1);
    let _ = locks.force_release("k").await.unwrap();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(locks.recent_events().lost.iter().sum::<u32>(), 1);
}

async fn admin_client_refusals(app: &Router) -> u64 {
    let list = json(app, "").await;
    let refused = list["process"]["refused"].as_array().unwrap();
    refused.iter().map(|count| count.as_u64().unwrap()).sum()
}

#[tokio::test(start_paused = true)]
async fn a_release_from_another_origin_is_refused() {
    let (app, locks) = page(true);
    let _held = locks.write("order:7").acquire().await.unwrap();
    let body = r#"{"key": "order:7", "action": "request"}"#;
    for (host, origin, status) in [
        ("locks.example", Some("https://locks.example"), 200),
        ("locks.example:8443", Some("https://LOCKS.example:8443"), 200),
        ("locks.example", None, 200),
        ("locks.example", Some("https://evil.example"), 403),
        ("locks.example", Some("https://locks.example:8443"), 403),
        ("locks.example", Some("null"), 403),
        ("locks.example", Some("\u{ff}"), 403),
    ] {
        let mut request = post("/admin/locks").header(HEADER.0, HEADER.1).header("host", host);
        if let Some(origin) = origin {
            request = request.header("origin", origin.as_bytes());
        }
        assert_eq!(release(&app, request, body).await.status, status, "{host} {origin:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_not_the_pages_is_refused() {
    let page = admin::router(LockClient::in_memory()).allow_release();
    let app: Router = page.allowed_hosts(["locks.example"]).into_unprotected_router();
    for (host, status) in [
        (Some("locks.example"), 200),
        (Some("LOCKS.example:8443"), 200),
        (Some("rebound.example"), 403),
        (None, 403),
    ] {
        let request = host.into_iter().fold(Request::get("/"), |it, host| it.header("host", host));
        let request = request.body(Body::empty()).unwrap();
        assert_eq!(send(&app, request).await.status, status, "{host:?}");
    }
}

/// Each sees the lock's key and what is to be done, and is found in the log afterwards.
#[tokio::test(start_paused = true)]
async fn each_request_may_be_refused_by_its_key_and_action() {
    let logs = Logs::collect();
    let store = MemoryStore::new();
    let page = admin::router(LockClient::builder().in_memory_on(&store)).allow_release();
    let page = page.authorize(|request| {
        let name = request.parts.headers.get("x-operator").ok_or("log in first")?;
        match (request.action, request.key) {
            (AdminAction::Look, key) if !key.starts_with("secret") => {}
            (AdminAction::RequestRelease, "order:7") => {}
            _ => return Err("this is not yours".to_owned()),
        }
        Ok(name.to_str().map_err(|why| why.to_string())?.to_owned())
    });
    let app: Router = page.into_unprotected_router();
    let ask = async |query: &str, name: Option<&str>| {
        let request = Request::get(format!("/?format=json&{query}"));
        let request = name.into_iter().fold(request, |it, name| it.header("x-operator", name));
        send(&app, request.body(Body::empty()).unwrap()).await
    };
    assert_eq!(ask("", None).await.status, 403);
    assert_eq!(ask("prefix=order:", Some("ann")).await.status, 200);
    let refused = ask("key=secret:1", Some("ann")).await;
    assert!(refused.status == 403 && refused.text.contains("this is not yours"), "{refused:?}");
    let act = async |key: &str, action: &str| {
        let request = post("/").header(HEADER.0, HEADER.1).header("x-operator", "ann");
        let body = format!("{{\"key\": \"{key}\", \"action\": \"{action}\"}}");
        release(&app, request, &body).await.status
    };
    assert_eq!(act("order:7", "request").await, 200);
    assert_eq!(act("order:7", "force").await, 403);
    assert_eq!(act("order:8", "request").await, 403);
    let lines = logs.lines();
    let audited: Vec<_> = lines.iter().filter(|line| line.contains("acts on a lock")).collect();
    assert_eq!(audited.len(), 1, "{lines:?}");
    for part in ["operator=\"ann\"", "action=RequestRelease", "key=\"order:7\""] {
        assert!(audited[0].contains(part), "{audited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn searches_have_a_bound_and_do_not_keep_the_page_away() {
    let (app, _) = page(false);
    let mut answered = Vec::new();
    for number in 0..50 {
        let path = format!("/admin/locks?format=json&prefix=a{number}");
        answered.push(call(&app, "GET", &path).await.status.as_u16());
    }
    assert_eq!(answered.iter().filter(|status| **status == 200).count(), 10, "{answered:?}");
    assert!(answered[10..].iter().all(|status| *status == 429), "{answered:?}");
    assert_eq!(call(&app, "GET", "/admin/locks").await.status, 200);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(call(&app, "GET", "/admin/locks?prefix=a").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn streams_of_events_have_a_bound() {
    let (app, _) = page(false);
    let open = || app.clone().oneshot(crate::common::request("GET", "/admin/locks?format=events"));
    let mut streams = Vec::new();
    for _ in 0..32 {
        let response = open().await.unwrap();
        assert_eq!(response.status(), 200);
        streams.push(response.into_body());
    }
    assert_eq!(open().await.unwrap().status(), 429);
    streams.pop();
    assert_eq!(open().await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn no_answer_is_kept_or_guessed_at() {
    let (app, _) = page(false);
    for (method, query) in [
        ("GET", ""),
        ("GET", "?format=json"),
        ("GET", "?format=nonsense"),
        ("POST", ""),
        ("PUT", ""),
    ] {
        let answer = call(&app, method, &format!("/admin/locks{query}")).await;
        assert_eq!(answer.headers["cache-control"], "no-store", "{method} {query}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{method} {query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadlock_of_three_is_listed_from_its_least_key_on() {
    let (app, locks) = page(false);
    let circle = ["b", "c", "a"];
    let scopes = circle.map(|_| locks.scope());
    let mut held = Vec::new();
    for (scope, key) in scopes.iter().zip(circle) {
        held.push(scope.write(key).acquire().await.unwrap());
    }
    for (scope, key) in scopes.iter().zip(["c", "a", "b"]) {
        tokio::spawn(scope.write(key).wait(NEVER).acquire());
    }
    // Until all of that is written down.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let list = json(&app, "").await;
    let waits_for = |lock: &Value| lock["holders"][0]["work"]["waits_for"].clone();
    let waits: Vec<_> = list["locks"].as_array().unwrap().iter().map(waits_for).collect();
    assert_eq!(waits, ["b", "c", "a"], "{list}");
    assert_eq!(list["deadlocks"], json!([["a", "b", "c"]]));
    let html = call(&app, "GET", "/admin/locks").await.text;
    assert_eq!(html.matches("<h2>Deadlock</h2>").count(), 1, "{html}");
    // Its page does not show what the holder of the next lock waits for.
    assert_eq!(json(&app, "key=a").await["deadlocks"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn holds_are_plotted_for_a_quarter_of_an_hour() {
    let locks = LockClient::builder().in_memory_on(&MemoryStore::new());
    let app: Router = admin::router(locks.clone()).into_unprotected_router();
    let tile = async || {
        let html = call(&app, "GET", "/").await.text;
        let tile = html.split("<figure id=\"holds\">").nth(1).unwrap();
        let tile = tile.split("</figure>").next().unwrap();
        (tile.contains("<strong>1</strong>"), tile.matches("<rect").count())
    };
    assert_eq!(tile().await, (false, 0));
    let guard = locks.write("k").acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    // In the same period: the most counts.
    assert_eq!(tile().await, (true, 1));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(tile().await, (true, 2));
    guard.release().await.unwrap();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(tile().await, (false, 2));
    tokio::time::sleep(Duration::from_secs(870)).await;
    assert_eq!(tile().await, (false, 1));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(tile().await, (false, 0));
}
