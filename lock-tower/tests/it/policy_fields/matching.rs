//! Which requests a rule is for.

use axum::{Router, extract::Path, routing::put};
use lock_tower::{distributed_lock, policies::Policies, testing::TestLocks};

use crate::common::{call, request};
use crate::policy_fields::policy_service::PolicyService;

/// Whether the rule's lock counts for each of the requests: method, path, host, header.
async fn counts(found: &str, requests: [(&str, &str, &str, &str); 2]) -> [bool; 2] {
    let world = PolicyService::new(&format!(
        "version = 1\n[[policy]]\nname = \"order\"\nmatch = {{ {found} }}\nkey = \"order\"\n\
         mode = \"write\"\n"
    ));
    let _held = world.locks.hold("order").await;
    let mut counts = [false; 2];
    for (counts, (method, path, host, tier)) in counts.iter_mut().zip(requests) {
        let mut request = request(method, path);
        request.headers_mut().insert("host", host.parse().unwrap());
        if !tier.is_empty() {
            request.headers_mut().insert("x-tier", tier.parse().unwrap());
        }
        let status = world.send(request).await.status.as_u16();
        assert!([200, 423].contains(&status), "{status}");
        *counts = status == 423;
    }
    counts
}

#[tokio::test(start_paused = true)]
async fn match_methods() {
    let requests = [("PUT", "/orders/7", "a", ""), ("GET", "/orders/7", "a", "")];
    assert_eq!(counts("methods = ['PUT', 'POST']", requests).await, [true, false]);
    assert_eq!(counts("", requests).await, [true, true]);
    // A handler of the one answers the other.
    let requests = [("GET", "/orders/7", "a", ""), ("HEAD", "/orders/7", "a", "")];
    assert_eq!(counts("methods = ['GET']", requests).await, [true, true]);
}

#[tokio::test(start_paused = true)]
async fn match_path() {
    let requests = [("PUT", "/orders/7", "a", ""), ("PUT", "/orders/7/lines", "a", "")];
    assert_eq!(counts("path = '/orders/{id}'", requests).await, [true, false]);
    assert_eq!(counts("path = '/orders/{id}/{*rest}'", requests).await, [false, true]);
    assert_eq!(counts("path = '/orders/{*rest}'", requests).await, [true, true]);
}

#[tokio::test(start_paused = true)]
async fn match_host() {
    let requests = [("PUT", "/orders/7", "API.a.org:80", ""), ("PUT", "/orders/7", "b.org", "")];
    assert_eq!(counts("host = 'api.a.org'", requests).await, [true, false]);
}

const TIERS: [(&str, &str, &str, &str); 2] =
    [("PUT", "/orders/7", "a", "gold"), ("PUT", "/orders/7", "a", "silver")];
const ANY_TIER: [(&str, &str, &str, &str); 2] =
    [("PUT", "/orders/7", "a", "gold"), ("PUT", "/orders/7", "a", "")];

#[tokio::test(start_paused = true)]
async fn match_header() {
    let both = "header = [{ name = 'x-tier' }, { name = 'host', value = 'a' }]";
    assert_eq!(counts(both, ANY_TIER).await, [true, false]);
}

#[tokio::test(start_paused = true)]
async fn header_name() {
    assert_eq!(counts("header = { name = 'X-Tier' }", ANY_TIER).await, [true, false]);
    assert_eq!(counts("header = { name = 'x-other' }", ANY_TIER).await, [false, false]);
}

#[tokio::test(start_paused = true)]
async fn header_value() {
    let gold = "header = { name = 'x-tier', value = 'gold' }";
    assert_eq!(counts(gold, TIERS).await, [true, false]);
}

#[distributed_lock(key = "order:{id}", name = "orders::update")]
async fn update(Path(id): Path<u64>) -> String {
    id.to_string()
}

#[tokio::test(start_paused = true)]
async fn match_attribute() {
    for (attribute, status) in [("orders::update", 409), ("orders::other", 423)] {
        let file = format!(
            "version = 1\n[[policy]]\nname = \"order\"\nmatch = {{ attribute = \"{attribute}\" }}\n\
             busy_status = 409\n"
        );
        let locks = TestLocks::new();
        let policies = Policies::builder(locks.client()).parse("locks.toml", &file).unwrap();
        let app = Router::new().route("/orders/{id}", put(update)).route_layer(policies.layer());
        let _held = locks.hold("order:7").await;
        assert_eq!(call(&app, "PUT", "/orders/7").await.status, status);
        assert_eq!(policies.attributes_not_seen().len(), usize::from(status == 423));
    }
}
