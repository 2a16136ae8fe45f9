//! Positions of the layer, routes, and requests without a policy.

use crate::common::{call, logs::Logs, request};
use axum::{
    Router,
    body::Body,
    routing::{any, get, put},
};
use http::Request;
use lock_tower::{
    LockClient, distributed_lock,
    policies::Policies,
    testing::{self, TestLocks, routes},
};
use tower::{Layer, ServiceExt};

async fn handler() -> &'static str {
    "done"
}

fn policies(locks: LockClient, rules: &[(&str, &str)]) -> Policies {
    let rules = rules.iter().map(|(name, found)| {
        format!("[[policy]]\nname = \"{name}\"\nmatch = {{ {found} }}\nkey = \"{name}\"\n")
    });
    let text = format!("version = 1\n{}", rules.collect::<String>());
    Policies::builder(locks).parse("locks.toml", &text).unwrap()
}

fn shop() -> Router {
    let items = Router::new().route("/{item}", get(handler).delete(handler));
    Router::new()
        .route("/orders/{id}", get(handler).put(handler))
        .route("/any", any(handler))
        .nest("/api/{tenant}/items", items)
        .merge(Router::new().route("/health", get(handler)))
        .nest_service("/files", Router::<()>::new().route("/x", put(handler)))
        .route_service("/service", get(handler))
}

const RULES: [(&str, &str); 8] = [
    ("order-write", "methods = [\"PUT\"], path = \"/orders/{id}\""),
    ("order-read", "methods = [\"GET\"], path = \"/orders/{id}\""),
    ("item", "path = \"/api/{tenant}/items/{item}\", header = { name = \"x\" }"),
    ("any-put", "methods = [\"PUT\"], path = \"/any\""),
    ("files", "path = \"/files/{*rest}\""),
    ("renamed", "path = \"/api/{tenant}/items/{name}\""),
    ("post", "methods = [\"POST\"], path = \"/orders/{id}\""),
    ("gone", "path = \"/gone\""),
];

const TABLE: &str = "\
route                       methods     policy
/any                        any         any-put (some requests)
/api/{tenant}/items/{item}  GET DELETE  item (some requests)
/files                      any         none
/files/                     any         none
/files/{*}                  any         files
/health                     GET         none
/orders/{id}                GET         order-read
/orders/{id}                PUT         order-write
/service                    any         none
without a route: `renamed` for /api/{tenant}/items/{name}: did you mean /api/{tenant}/items/{item}?
without a route: `post` for /orders/{id}: the route has other methods
without a route: `gone` for /gone: the router has no such route
";

#[test]
fn the_routes_and_their_policies_in_one_table() {
    let policies = policies(LockClient::in_memory(), &RULES);
    let logs = Logs::collect();

    let table = policies.check_routes(routes(&shop()));

    assert_eq!(table.to_string(), TABLE);
    assert!(logs.text().contains("WARN") && logs.text().contains("/orders/{id}"));
    let without: Vec<_> = table.without_policy().collect();
    assert!(without.contains(&("/health", "GET")));
    assert_eq!(table.without_route().count(), 3);
    // Layers change nothing, wherever they are.
    assert_eq!(policies.check_routes(routes(&shop().route_layer(policies.layer()))), table);
    assert_eq!(policies.check_routes(routes(&shop().layer(policies.layer()))), table);
}

/// Seen at the start, and not by the first request that is answered 500.
#[tokio::test]
async fn a_route_without_a_parameter_of_its_key_is_reported() {
    let file = "version = 1\n[[policy]]\nname = \"read\"\nmatch = { methods = [\"GET\", \"HEAD\"] }\n\
                key = \"{query.q}\"\n[[policy]]\nname = \"all\"\nmatch = {}\n\
                keys = [\"{id}\", \"{line|default=1}\"]\n";
    let policies = Policies::builder(LockClient::in_memory()).parse("locks.toml", file).unwrap();
    let logs = Logs::collect();
    let app: Router = Router::new()
        .route("/orders/{id}", put(handler))
        .route("/health", get(handler))
        .route("/import", put(handler))
        .route("/v{id}", put(handler));
    let table = policies.check_routes(routes(&app));
    let lacking: Vec<_> = table.without_parameter().collect();
    assert_eq!(lacking, ["/import has no `id` for the key of `all`"], "{table}");
    assert!(
        table
            .to_string()
            .ends_with("\nwithout a parameter: /import has no `id` for the key of `all`\n")
    );
    assert!(logs.text().contains("WARN") && logs.text().contains("routes without a parameter"));
    let app = app.route_layer(policies.layer());
    assert_eq!(call(&app, "PUT", "/import").await.status, 500);
    assert_eq!(call(&app, "PUT", "/orders/7").await.status, 200);
}

#[test]
fn where_all_is_well_nothing_is_warned_of() {
    let policies = policies(LockClient::in_memory(), &[("order", "path = \"/orders/{id}\"")]);
    let logs = Logs::collect();
    let app: Router = Router::new().route("/orders/{id}", put(handler));
    let table = policies.check_routes(routes(&app));
    assert_eq!((table.without_route().count(), table.without_policy().count()), (0, 0));
    assert!(!logs.text().contains("WARN"), "{}", logs.text());
}

const PLACED: [(&str, &str); 3] = [
    ("order", "path = \"/orders/{id}\""),
    ("files", "path = \"/files/{*rest}\""),
    ("gold", "header = { name = \"x-tier\" }"),
];

/// With the three locks held, what a `PUT` is answered.
async fn put_beside(locks: &TestLocks, app: &Router, path: &str) -> u16 {
    let _held = [locks.hold("order").await, locks.hold("files").await, locks.hold("gold").await];
    call(app, "PUT", path).await.status.as_u16()
}

fn orders() -> Router {
    Router::new().route("/orders/{id}", put(handler)).route("/other", put(handler))
}

/// Whatever places the layer at, no request that has a policy runs without its lock.
#[tokio::test(start_paused = true)]
async fn the_layer_has_its_place_inside_of_the_router() {
    let locks = TestLocks::new();
    let policies = policies(locks.client(), &PLACED);
    for app in [orders().route_layer(policies.layer()), orders().layer(policies.layer())] {
        assert_eq!(put_beside(&locks, &app, "/orders/7").await, 423);
        assert_eq!(put_beside(&locks, &app, "/other").await, 200);
        assert_eq!(put_beside(&locks, &app, "/nowhere").await, 404);
    }
    // In a nested router, with the path that the whole router has.
    let nested = Router::new().nest("/orders", Router::new().route("/{id}", put(handler)));
    let nested = nested.route_layer(policies.layer());
    assert_eq!(put_beside(&locks, &nested, "/orders/7").await, 423);
}

#[tokio::test(start_paused = true)]
async fn around_a_router_a_policy_that_needs_the_route_refuses() {
    let logs = Logs::collect();
    let locks = TestLocks::new();
    let policies = policies(locks.client(), &PLACED);
    let files = Router::new().nest_service("/files", get(handler).put(handler));
    let app = policies.layer().layer(orders().merge(files));
    let put = async |request| app.clone().oneshot(request).await.unwrap().status().as_u16();

    assert_eq!(put(request("PUT", "/orders/7")).await, 500);
    assert!(logs.text().contains("Router::route_layer"), "{}", logs.text());
    assert_eq!(put(request("PUT", "/other")).await, 200);
    // The path alone decides.
    let _held = [locks.hold("files").await, locks.hold("gold").await];
    assert_eq!(put(request("PUT", "/files/a/b")).await, 423);
    let mut gold = request("PUT", "/other");
    gold.headers_mut().insert("x-tier", "gold".parse().unwrap());
    assert_eq!(put(gold).await, 423);
}

#[tokio::test(start_paused = true)]
async fn a_nested_service_is_locked_by_its_path() {
    let locks = TestLocks::new();
    let policies = policies(locks.client(), &PLACED);
    let app = Router::new().nest_service("/files", get(handler).put(handler));
    let app = app.route_layer(policies.layer());
    assert_eq!(put_beside(&locks, &app, "/files/a").await, 423);
    assert_eq!(call(&app, "PUT", "/files/a").await.status, 200);
}

/// A rule in shadow mode rejects no request, wherever its layer is.
#[tokio::test]
async fn shadow_mode_refuses_no_request_for_its_place() {
    let text = "version = 1\n[[policy]]\nname = \"order\"\nmatch = { path = \"/orders/{id}\" }\n\
        key = \"order\"\nenforce = \"shadow\"\n";
    let policies = Policies::builder(LockClient::in_memory()).parse("locks.toml", text).unwrap();
    let app = policies.layer().layer(orders());
    let answer = app.oneshot(request("PUT", "/orders/7")).await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[distributed_lock(key = "inner", name = "inner")]
async fn inner() -> &'static str {
    "inner"
}

/// An attribute finds its client whether or not the request has a lock of the file's.
#[tokio::test(start_paused = true)]
async fn a_request_without_a_policy_has_a_scope() {
    let text = "version = 1\n[[policy]]\nname = \"skipped\"\nmatch = { path = \"/skipped\" }\n\
        key = \"{query.q}\"\non_missing_key = \"skip\"\n";
    let locks = TestLocks::new();
    let policies = Policies::builder(locks.client()).parse("locks.toml", text).unwrap();
    let app = Router::new().route("/skipped", put(inner)).route("/unmatched", put(inner));
    let app = app.route_layer(policies.layer());
    for path in ["/skipped", "/unmatched"] {
        assert_eq!(call(&app, "PUT", path).await.text, "inner");
        let _held = locks.hold("inner").await;
        call(&app, "PUT", path).await.assert_problem(423, "lock-busy");
    }
}

const ORDER: (&str, &str) = ("order", "path = \"/orders/{id}\"");

async fn rules_of(app: &Router, path: &str) -> Vec<Option<String>> {
    let request = Request::put(path).body(Body::empty()).unwrap();
    testing::rules_of(app.clone(), request).await
}

/// Its routes have the path of the whole router, the rule only the end of it.
#[tokio::test]
async fn a_rule_with_the_end_of_a_nested_route_is_an_error_in_the_log() {
    for nests_a_service in [false, true] {
        let logs = Logs::collect();
        let policies = policies(LockClient::in_memory(), &[ORDER]);
        let inner = orders().route_layer(policies.layer());
        let app: Router = match nests_a_service {
            true => Router::new().nest_service("/api", inner),
            false => Router::new().nest("/api", inner),
        };
        for _ in 0..3 {
            assert_eq!(rules_of(&app, "/api/orders/7").await, [None]);
        }
        let reported = "requests of this route run without the lock of this rule";
        let lines: Vec<_> =
            logs.lines().into_iter().filter(|line| line.contains(reported)).collect();
        assert_eq!(lines.len(), 1, "{}", logs.text());
        assert!(lines[0].contains("ERROR") && lines[0].contains("policy=order"), "{lines:?}");
        assert!(lines[0].contains("route=\"/api/orders/{id}\""), "{lines:?}");
    }
}

/// Outside of the router that knows the route, the request's path is all there is.
#[tokio::test]
async fn a_rule_with_the_end_of_a_path_is_logged_where_the_route_is_unknown() {
    let reported = "whose path is only the end of the request's";
    let under = |nested: Router, policies: &Policies| -> [Router; 3] {
        let api = Router::new().nest("/api", nested.clone());
        [
            Router::new().nest_service("/api", nested).layer(policies.layer()),
            Router::new().fallback_service(api.clone()).layer(policies.layer()),
            Router::new().fallback_service(policies.layer().layer(api)),
        ]
    };
    let any = ("any", "path = \"/{a}/{b}\"");
    let put_order = ("order", "methods = [\"PUT\"], path = \"/orders/{id}\"");
    for place in 0..3 {
        let logs = Logs::collect();
        let wrong = policies(LockClient::in_memory(), &[put_order, any]);
        let app = &under(orders(), &wrong)[place];
        // A path that no route has is a client's.
        assert_eq!(call(app, "PUT", "/api/no/orders/7").await.status, 404);
        assert!(!logs.text().contains(reported), "{}", logs.text());
        for _ in 0..3 {
            assert_eq!(call(app, "PUT", "/api/orders/7").await.text, "done");
        }
        let lines: Vec<_> =
            logs.lines().into_iter().filter(|line| line.contains(reported)).collect();
        assert_eq!(lines.len(), 1, "{place}: {}", logs.text());
        assert!(lines[0].contains("WARN") && lines[0].contains("policy=\"order\""), "{lines:?}");
    }
    let logs = Logs::collect();
    let right = policies(LockClient::in_memory(), &[("order", "path = \"/api/{*rest}\""), any]);
    for app in under(orders(), &right) {
        assert_eq!(call(&app, "PUT", "/api/orders/7").await.text, "done");
    }
    assert!(!logs.text().contains(reported), "{}", logs.text());
}

/// A rule that locks nothing, for a name, a slash or a letter.
#[tokio::test]
async fn a_rule_with_another_spelling_of_the_route_is_an_error_in_the_log() {
    for (path, requested) in [
        ("/orders/{order_id}", "/orders/7"),
        ("/orders/{id}/", "/orders/7/"),
        ("/Orders/{id}", "/Orders/7"),
    ] {
        let logs = Logs::collect();
        let policies = policies(LockClient::in_memory(), &[ORDER]);
        let app = Router::new().route(path, put(handler)).route_layer(policies.layer());
        for _ in 0..3 {
            assert_eq!(rules_of(&app, requested).await, [None]);
        }
        let reported = "requests of this route run without the lock of this rule";
        let lines: Vec<_> =
            logs.lines().into_iter().filter(|line| line.contains(reported)).collect();
        assert_eq!(lines.len(), 1, "{}", logs.text());
        assert!(lines[0].contains("ERROR") && lines[0].contains("policy=order"), "{lines:?}");
        assert!(lines[0].contains(&format!("did you mean \"{path}\"?")), "{lines:?}");
        let table = policies.check_routes(routes(&app));
        let without: Vec<_> = table.without_route().collect();
        assert_eq!(without, [format!("`order` for /orders/{{id}}: did you mean {path}?")]);
    }
}

/// A route that a rule has as its path is another one on purpose.
#[tokio::test]
async fn routes_that_a_rule_names_are_no_near_misses() {
    let logs = Logs::collect();
    let rules =
        [ORDER, ("slash", "path = \"/orders/{id}/\""), ("api", "path = \"/api/orders/{id}\"")];
    let policies = policies(LockClient::in_memory(), &rules);
    let app = Router::new()
        .route("/orders/{id}", put(handler))
        .route("/orders/{id}/", put(handler))
        .route("/api/orders/{id}", put(handler))
        .route("/orders", put(handler))
        .route_layer(policies.layer());
    for path in ["/orders/7", "/orders/7/", "/api/orders/7", "/orders"] {
        rules_of(&app, path).await;
    }
    assert!(!logs.text().contains("ERROR"), "{}", logs.text());
}

#[tokio::test]
async fn the_test_kit_shows_which_rules_a_request_meets() {
    let locks = LockClient::in_memory();
    let outer = policies(locks.clone(), &[("all", "path = \"/{*rest}\"")]);
    let inner = policies(locks, &[ORDER]);
    let app: Router = orders()
        .route_layer(inner.layer())
        .route("/late/{id}", put(handler))
        .route_layer(outer.layer())
        .route("/later", put(handler));
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(rules_of(&app, "/orders/7").await, [named("all"), named("order")]);
    assert_eq!(rules_of(&app, "/late/7").await, [named("all")]);
    assert!(rules_of(&app, "/later").await.is_empty(), "it was added after the layer");
}
