//! The layer does what `explain` shows, in a router that has the routes of the file.

use crate::common::{call, send};
use axum::{Router, body::Body, routing::any};
use http::{Extensions, Method, Request, StatusCode};
use lock_tower::{LockClient, Locked, policies::Policies, policy_file::PolicyFile};

/// They overlap: a request is often for several of them.
const PATHS: [&str; 10] = [
    "/",
    "/{*rest}",
    "/a",
    "/a/{id}",
    "/a/7",
    "/a/v{major}",
    "/a/{id}/c",
    "/a/{id}/{line}",
    "/a/7/{*rest}",
    "/b/{id}/c",
];
const MATCHES: [&str; 6] = [
    "",
    "",
    ", methods = [\"GET\"]",
    ", methods = [\"PUT\", \"DELETE\"]",
    ", host = \"Shop.example\"",
    ", header = { name = \"x-tier\", value = \"gold\" }",
];
const REQUESTS: [&str; 12] = [
    "/", "/a", "/a/", "/a/7", "/a/%37", "/a/8", "/a/v2", "/a/v", "/a/7/c", "/a/8/c", "/b/7/c",
    "/a/7/c/d",
];
const METHODS: [Method; 4] = [Method::GET, Method::HEAD, Method::PUT, Method::OPTIONS];

/// The same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn pick<'p, T>(&mut self, of: &'p [T]) -> &'p T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        &of[(self.0 >> 33) as usize % of.len()]
    }
}

/// A file with a few rules, and the paths that they name, each once.
fn rules(numbers: &mut Numbers) -> (String, Vec<&'static str>) {
    let (mut text, mut paths) = ("version = 1\n".to_owned(), Vec::new());
    for nth in 0..*numbers.pick(&[2, 3, 4, 5]) {
        let (path, more) = (*numbers.pick(&PATHS), numbers.pick(&MATCHES));
        text += &format!(
            "[[policy]]\nname = \"r{nth}\"\nmatch = {{ path = \"{path}\"{more} }}\nkey = \"k\"\n"
        );
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    (text, paths)
}

/// In a header, so that it is there for `HEAD` too.
async fn rule_of(extensions: Extensions) -> [(&'static str, String); 1] {
    let rule = Locked::from_extensions(&extensions).map(|lock| lock.name().to_owned());
    [("x-rule", rule.unwrap_or_else(|| "none".to_owned()))]
}

#[tokio::test]
async fn the_rule_that_is_explained_is_the_one_that_counts() {
    let mut numbers = Numbers(7);
    let mut compared = [0; 2];
    for _ in 0..400 {
        let (text, paths) = rules(&mut numbers);
        // A file with a rule that nothing can reach is none.
        let Ok(file) = PolicyFile::parse("locks.toml", &text) else { continue };
        let policies =
            Policies::builder(LockClient::in_memory()).parse("locks.toml", &text).unwrap();
        let routes = paths.iter().fold(Router::new(), |app, path| app.route(path, any(rule_of)));
        let app = routes.route_layer(policies.layer());
        for _ in 0..20 {
            let (method, path) = (numbers.pick(&METHODS), *numbers.pick(&REQUESTS));
            let mut request = Request::builder().method(method).uri(path);
            if *numbers.pick(&[true, false]) {
                request = request.header("host", "shop.example:80");
            }
            if *numbers.pick(&[true, false]) {
                request = request.header("x-tier", *numbers.pick(&["gold", "tin"]));
            }
            let headers = request.headers_ref().unwrap().clone();
            let answer = send(&app, request.body(Body::empty()).unwrap()).await;
            if answer.status == StatusCode::NOT_FOUND {
                continue;
            }
            let explained = file.explain(method, path, &headers);
            let rule = explained.rule().unwrap_or("none");
            assert_eq!(
                answer.headers["x-rule"], rule,
                "{method} {path} {headers:?}\n{text}{explained}"
            );
            compared[usize::from(rule != "none")] += 1;
        }
    }
    assert!(compared.iter().all(|count| *count > 300), "{compared:?}");
}

#[tokio::test]
async fn a_path_that_is_no_text_names_no_key() {
    let text =
        "version = 1\n[[policy]]\nname = \"a\"\nmatch = { path = \"/a/{id}\" }\nkey = \"{id}\"\n";
    let policies = Policies::builder(LockClient::in_memory()).parse("locks.toml", text).unwrap();
    let app = Router::new().route("/a/{id}", any(rule_of)).route_layer(policies.layer());
    let answer = call(&app, "GET", "/a/%FF").await;
    let document = answer.assert_problem(400, "lock-key-invalid");
    let file = PolicyFile::parse("locks.toml", text).unwrap();
    let explained = file.explain(&Method::GET, "/a/%FF", &http::HeaderMap::new()).to_json();
    let why = "a path parameter is not valid UTF-8";
    assert_eq!(explained["rule"]["keys"][0], format!("lock-key-invalid: {why}"));
    assert!(document["detail"].as_str().unwrap().contains(why), "{document}");
}
