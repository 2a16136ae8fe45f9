//! From the bytes of a request to its key: no two requests with different values have one lock, and
//! bytes that are not text are refused.

use ::http::Request;
use axum::{Router, body::Body, routing::put};
use lock_core::test_util::untrusted_input::slots;
use lock_tower::{LockClient, LockKey, Locked, RequestLockLayer};
use proptest::{collection::vec, prelude::*};
use tower::ServiceExt;

const CASES: u32 = 2_000;

/// What comes of two values: the key, or the status and the problem.
type Reported = Result<String, (u16, String)>;

struct Service {
    app: Router,
    runtime: tokio::runtime::Runtime,
}

impl Service {
    fn new(route: &str, template: &str) -> Self {
        let key = async |lock: Locked| lock.view().unwrap().key().as_str().to_owned();
        let lock = RequestLockLayer::new(LockClient::in_memory(), template).unwrap();
        let app = Router::new().route(route, put(key)).route_layer(lock);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { app, runtime }
    }

    fn tell(&self, uri: &str) -> Reported {
        self.runtime.block_on(async {
            let request = Request::put(uri).body(Body::empty()).unwrap();
            let answer = self.app.clone().oneshot(request).await.unwrap();
            let status = answer.status().as_u16();
            let body = axum::body::to_bytes(answer.into_body(), 10_000).await.unwrap();
            let text = String::from_utf8(body.to_vec()).unwrap();
            if status == 200 { Ok(text) } else { Err((status, text)) }
        })
    }
}

/// Every byte, whatever it is.
fn encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02x}")).collect()
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    let telling = prop::sample::select(b":%{}/ab7\r\n\0.".to_vec());
    // Except the replacement character, which a query may not have.
    let letter = any::<char>().prop_filter("of a text", |c| *c != char::REPLACEMENT_CHARACTER);
    let letters = vec(letter, 1..4);
    prop_oneof![
        vec(telling, 1..6),
        vec(any::<u8>(), 1..6),
        letters.prop_map(|text| String::from_iter(text).into_bytes())
    ]
}

fn is_text(values: &[Vec<u8>; 2]) -> bool {
    values.iter().all(|value| str::from_utf8(value).is_ok())
}

fn assert_told(service: &Service, uri: impl Fn(&[Vec<u8>; 2]) -> String) {
    let runner = ProptestConfig { cases: CASES, failure_persistence: None, ..Default::default() };
    let pair = || [value(), value()];
    proptest!(runner, |(one in pair(), other in pair())| {
        let reported = [&one, &other].map(|values| service.tell(&uri(values)));
        for (values, reported) in [&one, &other].into_iter().zip(&reported) {
            match reported {
                Ok(key) => {
                    prop_assert!(is_text(values), "{values:?} is no text and has {key}");
                    let key = LockKey::try_from(key).unwrap();
                    prop_assert_eq!(slots("lock:", &key).len(), 1);
                    prop_assert!(!key.as_str().contains(['{', '}']), "{key}");
                }
                Err((status, problem)) => {
                    prop_assert!(!is_text(values), "{values:?}: {problem}");
                    prop_assert_eq!(*status, 400);
                    prop_assert!(problem.contains("lock-key-invalid"), "{problem}");
                }
            }
        }
        if let [Ok(key), Ok(beside)] = &reported {
            prop_assert_eq!(key == beside, one == other, "{} and {}", key, beside);
        }
    });
}

#[test]
fn of_a_path() {
    let service = Service::new("/x/{a}/{b}", "o:{a}:{b}");
    assert_told(&service, |[a, b]| format!("/x/{}/{}", encoded(a), encoded(b)));
}

#[test]
fn of_a_query() {
    let service = Service::new("/x", "o:{query.a}:{query.b}");
    assert_told(&service, |[a, b]| format!("/x?a={}&b={}", encoded(a), encoded(b)));
}

#[test]
fn known_pairs() {
    let service = Service::new("/x/{a}/{b}", "o:{a}:{b}");
    let colons = ["/x/1:2/3", "/x/1/2:3"].map(|uri| service.tell(uri).unwrap());
    assert_eq!(colons, ["o:1%3A2:3", "o:1:2%3A3"]);
    // Braces of a client are text, and move no lock to another slot.
    let tagged = Service::new("/x/{a}", "o:{{tag}}:{a}");
    let slot = |uri: &str| {
        let key = LockKey::try_from(tagged.tell(uri).unwrap()).unwrap();
        slots("lock:", &key)
    };
    assert_eq!(slot("/x/%7Bx%7D"), slot("/x/7"));
    assert_eq!(slot("/x/%7Bx%7D").len(), 1);
}
