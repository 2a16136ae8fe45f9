//! Every source of a key, through a request, and what is answered without it.

use crate::common::{Answer, logs::Logs, request, send};
use axum::{Extension, Router, body::Body, routing::any};
use http::{Request, header::COOKIE};
use lock_tower::{LockClient, Locked, RequestLockLayer, key::KeyValues};
use tower_cookies::{CookieManagerLayer, Cookies};

async fn key(lock: Locked) -> String {
    lock.view().unwrap().key().as_str().to_owned()
}

#[derive(Clone)]
struct Claims(&'static str);

fn registered() -> KeyValues {
    KeyValues::new()
        .claims(|parts, name| {
            let claims = parts.extensions.get::<Claims>()?;
            (name == "realm.role").then(|| claims.0.to_owned())
        })
        .extension("tenant", |parts| parts.extensions.get::<Claims>().map(|c| c.0.to_owned()))
}

fn app(template: &str, values: KeyValues) -> Router {
    let layer = RequestLockLayer::new(LockClient::in_memory(), template).unwrap().values(values);
    Router::new().route("/orders/{id}", any(key)).route_layer(layer)
}

async fn answer(template: &str, request: Request<Body>) -> Answer {
    send(&app(template, registered()), request).await
}

fn put(uri: &str, headers: &[(&'static str, &'static [u8])]) -> Request<Body> {
    let mut request = request("PUT", uri);
    for (name, value) in headers {
        let value = http::HeaderValue::from_bytes(value).unwrap();
        request.headers_mut().append(*name, value);
    }
    request
}

#[tokio::test]
async fn each_source_gives_its_value() {
    let uri = "/orders/7?page=02&q=a%20b+c&page.size=5";
    let headers: &[(&str, &[u8])] = &[
        ("x-tenant", b"North/1"),
        ("x-name", "Ö".as_bytes()),
        ("cookie", b"sid=a%20b; other=1"),
        ("cookie", b"third=3"),
    ];
    for (template, expected) in [
        ("{id}:{path.id:u64}", "7:7"),
        ("{query.page:u64}", "2"),
        ("{query.q}", "a%20b%20c"),
        ("{query.page.size}", "5"),
        ("{header.x-tenant}", "North%2F1"),
        ("{header.X-Tenant:lower}", "north%2F1"),
        ("{header.x-name:lower}", "%C3%B6"),
        ("{cookie.sid}", "a%20b"),
        ("{cookie.third}", "3"),
        ("{claim.realm.role}:{ext.tenant}", "clerk:clerk"),
    ] {
        let mut request = put(uri, headers);
        request.extensions_mut().insert(Claims("clerk"));
        assert_eq!(answer(template, request).await.text, expected, "{template}");
    }
}

/// Two spellings of one cookie are one lock, and the handler is given the value that is locked.
#[tokio::test]
async fn a_cookie_is_what_the_handler_reads() {
    async fn both(cookies: Cookies, lock: Locked) -> String {
        let read = cookies.get("sid").map(|cookie| cookie.value().to_owned());
        format!("{} {}", read.unwrap_or_default(), lock.view().unwrap().key())
    }
    let layer = RequestLockLayer::new(LockClient::in_memory(), "{cookie.sid|default=none}");
    let app = Router::new()
        .route("/orders/{id}", any(both))
        .route_layer(layer.unwrap())
        .layer(CookieManagerLayer::new());
    for (sent, read_and_key) in [
        ("sid=7", "7 7"),
        ("%73id=%37", "7 7"),
        ("a; =b; sid = 7 ; c=%ff", "7 7"),
        ("sid=a%20b", "a b a%20b"),
        ("sid=a+b", "a+b a%2Bb"),
        ("sid=a=b", "a=b a%3Db"),
        ("sid=\"7\"", "\"7\" %227%22"),
        ("sid=%C3%B6", "ö %C3%B6"),
        ("sid=ö", "ö %C3%B6"),
        ("sid=%zz%4", "%zz%4 %25zz%254"),
        ("sid=%2537", "%37 %2537"),
        ("SID=7; %20sid=7", " none"),
        ("sid=%ff", " none"),
        ("sid=7; sid=%ff", "7 7"),
    ] {
        let answer = send(&app, put("/orders/7", &[("cookie", sent.as_bytes())])).await;
        assert_eq!(answer.text, read_and_key, "{sent}");
    }
    for twice in ["sid=7; %73id=7", "sid=7; sid=8"] {
        let refused = send(&app, put("/orders/7", &[("cookie", twice.as_bytes())])).await;
        refused.assert_problem(400, "lock-key-invalid");
    }
}

#[tokio::test]
async fn a_value_missing_from_the_request_is_reported() {
    for (template, reported) in [
        ("{query.page}", "the query parameter `page` is missing"),
        ("{header.x-tenant}", "the header `x-tenant` is missing"),
        ("{cookie.sid}", "the cookie `sid` is missing"),
    ] {
        let refused = answer(template, put("/orders/7?pages=1", &[("cookie", b"side=1")])).await;
        let document = refused.assert_problem(400, "lock-key-missing");
        assert!(document["detail"].as_str().unwrap().contains(reported), "{document}");
    }
}

#[tokio::test]
async fn a_value_that_is_given_twice_is_refused() {
    let twice: &[(&str, &[u8])] =
        &[("x-tenant", b"a"), ("x-tenant", b"a"), ("cookie", b"sid=1"), ("cookie", b"sid=1")];
    for template in ["{query.page}", "{header.x-tenant}", "{cookie.sid}"] {
        let refused = answer(template, put("/orders/7?page=1&p=2&page=1", twice)).await;
        let document = refused.assert_problem(400, "lock-key-invalid");
        assert!(document["detail"].as_str().unwrap().contains("more than once"), "{document}");
    }
}

#[tokio::test]
async fn a_value_that_is_no_text_is_refused() {
    for (template, name) in [("{header.x-tenant}", "x-tenant"), ("{cookie.sid}", COOKIE.as_str())] {
        let mut request = request("PUT", "/orders/7");
        let value = http::HeaderValue::from_bytes(b"sid=\xff").unwrap();
        request.headers_mut().insert(http::HeaderName::try_from(name).unwrap(), value);
        answer(template, request).await.assert_problem(400, "lock-key-invalid");
    }
    // An empty value is present, and cannot be part of a key.
    let refused = answer("{query.page}", put("/orders/7?page=", &[])).await;
    refused.assert_problem(400, "lock-key-invalid");
}

#[tokio::test]
async fn a_value_missing_from_the_service_is_its_own_fault() {
    for template in ["{claim.sub}", "{ext.tenant}", "{ext.other}"] {
        let logs = Logs::collect();
        let refused = send(&app(template, KeyValues::new()), put("/orders/7", &[])).await;
        refused.assert_problem(500, "lock-misconfigured");
        let lines = logs.lines();
        assert!(lines.iter().any(|line| line.contains("KeyValues::")), "{lines:?}");
        // Registered, and the request has no such extension.
        answer(template, put("/orders/7", &[])).await.assert_problem(500, "lock-misconfigured");
    }
}

#[tokio::test]
async fn a_default_stands_for_what_is_missing_alone() {
    let template = "{query.page:u64|default=01}:{claim.x|default=unknown}:{header.a|default=-}";
    assert_eq!(answer(template, put("/orders/7", &[])).await.text, "1:unknown:-");
    let some = answer(template, put("/orders/7?page=3", &[("a", b"b")])).await;
    assert_eq!(some.text, "3:unknown:b");
    let empty = answer(template, put("/orders/7?page=", &[])).await;
    empty.assert_problem(400, "lock-key-invalid");
}

#[tokio::test]
async fn a_hash_is_of_the_canonical_value() {
    // As `printf ann@example.org | sha256sum` has it.
    const ANN: &str = "438c4c7afe600cdf1e455c369bec76dc970fc8ca463447c7b387a347f3c79331";
    let template = "mail:{header.email:lower|hash|default=ann@example.org}";
    for headers in [&[("email", b"Ann@Example.ORG" as &[u8])] as &[_], &[]] {
        let key = answer(template, put("/orders/7", headers)).await.text;
        assert_eq!(key, format!("mail:{ANN}"));
    }
    static LONG: [u8; 8193] = [b'x'; 8193];
    let long = |bytes: usize| put("/orders/7", &[("email", &LONG[..bytes])]);
    assert_eq!(answer(template, long(8192)).await.text.len(), 5 + 64);
    answer(template, long(8193)).await.assert_problem(400, "lock-key-invalid");
}

#[tokio::test]
async fn a_layer_outside_the_router_needs_no_route_for_other_sources() {
    let layer = RequestLockLayer::new(LockClient::in_memory(), "t:{header.x-tenant}").unwrap();
    let service = tower::Layer::layer(&layer, Router::new().route("/", any(key)));
    let app = Router::new().fallback_service(service).layer(Extension(()));
    assert_eq!(send(&app, put("/", &[("x-tenant", b"a")])).await.text, "t:a");
}
