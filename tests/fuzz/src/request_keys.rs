use futures_util::FutureExt;
use http::{HeaderValue, Request, Uri, header::COOKIE};
use lock_core::LockKey;
use lock_tower::{Outcome, testing::untrusted_input};

const TEMPLATES: [&str; 4] = [
    "q:{query.q}",
    "h:{header.x-tenant:lower}:{query.n:u64|default=1}",
    "c:{{{cookie.sid}}}",
    "e:{header.email|hash}",
];

/// Lines: a query, and the values of three headers, one of them a cookie. A request has a key that
/// is one, or is reported what it did wrong, and not what it said.
///
/// # Panics
///
/// When the key is none, or the service is blamed.
pub fn request_keys(input: &[u8]) {
    let mut lines = input.split(|byte| *byte == b'\n');
    let mut next = || lines.next().unwrap_or_default();
    let Ok(uri) = Uri::try_from([b"/x?", next()].concat()) else { return };
    let mut request = Request::new(());
    *request.uri_mut() = uri;
    for name in ["x-tenant", "email", COOKIE.as_str()] {
        let Ok(value) = HeaderValue::from_bytes(next()) else { continue };
        request.headers_mut().append(name, value);
    }
    let (mut parts, ()) = request.into_parts();
    for template in TEMPLATES {
        let keys = untrusted_input::keys(&[template], &mut parts).now_or_never();
        match keys.expect("nothing of a request is waited for") {
            Ok(keys) => {
                for key in keys {
                    let key = LockKey::try_from(key).expect("a key");
                    assert!(key.as_str().starts_with(&template[..2]), "{key}");
                }
            }
            Err(bad) => assert_ne!(bad.outcome(), Outcome::Misconfigured, "{bad}"),
        }
    }
}
