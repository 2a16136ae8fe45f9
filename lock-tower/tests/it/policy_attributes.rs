//! The effect of a policy file, and of the environment, on `#[distributed_lock]`.

use std::{process::Command, time::Duration};

use crate::common::{Answer, call, logs::Logs, request};
use axum::{
    Router,
    extract::Path,
    response::Response,
    routing::{get, put},
};
use lock_tower::{
    LockClient, LockError, Locked, RequestLockLayer, RequestScopeLayer, Scope, distributed_lock,
    policies::Policies, testing::TestLocks,
};
use tokio::time::Instant;

#[distributed_lock(key = "order:{id}", name = "handler", wait = "2s")]
async fn update(Path(id): Path<u64>, lock: Locked) -> String {
    format!("{id} {}", lock.unlocked().map_or("held", |unlocked| unlocked.as_str()))
}

#[distributed_lock(key = "all", name = "no-arguments", wait = "2s")]
async fn all() -> &'static str {
    "all"
}

#[distributed_lock(key = "stock:{id}", name = "function", client = locks, wait = "2s")]
async fn take(locks: &LockClient, id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[distributed_lock(key = "named:{name}", name = "named", client = locks)]
async fn rename(locks: &LockClient, name: String) -> Result<usize, LockError> {
    Ok(name.len())
}

async fn named(Path(name): Path<String>) -> Response {
    let locks = Scope::current().unwrap().client().clone();
    let status = if rename(&locks, name).await.is_ok() { 200 } else { 400 };
    Response::builder().status(status).body("named".into()).unwrap()
}

/// The result of the function, by its client's scope.
async fn stock(Path(id): Path<u64>) -> Response {
    let locks = Scope::current().unwrap().client().clone();
    let status = if take(&locks, id).await.is_ok() { 200 } else { 409 };
    Response::builder().status(status).body("stock".into()).unwrap()
}

fn policies(locks: &TestLocks, rules: &str) -> Policies {
    let stale = async |refused: lock_tower::request_lock::RejectedRequest| {
        let path = refused.request().map_or("nowhere", |request| request.uri.path());
        Response::new(format!("stale {path}").into())
    };
    let builder = Policies::builder(locks.client()).fallback("stale", stale);
    builder.parse("locks.toml", &format!("version = 1\n{rules}")).unwrap()
}

/// A rule for an attribute, with its name.
fn rule(attribute: &str, fields: &str) -> String {
    format!(
        "[[policy]]\nname = \"{attribute}\"\nmatch = {{ attribute = \"{attribute}\" }}\n{fields}\n"
    )
}

fn routes() -> Router {
    Router::new()
        .route("/orders/{id}", put(update))
        .route("/all", get(all))
        .route("/stock/{id}", put(stock))
        .route("/named/{name}", put(named))
}

fn app(policies: &Policies) -> Router {
    routes().route_layer(policies.layer())
}

/// The answer while others hold everything, and the seconds until it came.
async fn beside(locks: &TestLocks, app: &Router, path: &str) -> (Answer, u64) {
    let _held = [locks.hold("order:7").await, locks.hold("stock:7").await, locks.hold("all").await];
    let asked_at = Instant::now();
    let method = if path == "/all" { "GET" } else { "PUT" };
    (call(app, method, path).await, asked_at.elapsed().as_secs())
}

/// Status and seconds with these fields in the rules for each attribute.
async fn with(fields: &str, path: &str) -> (u16, u64) {
    let locks = TestLocks::new();
    let rules = ["handler", "function", "no-arguments"].map(|name| rule(name, fields)).concat();
    let (answer, waited) = beside(&locks, &app(&policies(&locks, &rules)), path).await;
    (answer.status.as_u16(), waited)
}

#[tokio::test(start_paused = true)]
async fn a_rule_sets_how_long_an_attribute_waits() {
    for (path, busy) in [("/orders/7", 423), ("/all", 423), ("/stock/7", 409)] {
        assert_eq!(with("", path).await, (busy, 2), "as in the code: {path}");
        assert_eq!(with("wait = \"5s\"", path).await, (busy, 5), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_sets_whether_an_attribute_applies() {
    for path in ["/orders/7", "/all", "/stock/7"] {
        for enforce in ["off", "shadow", "0%"] {
            let fields = format!("enforce = \"{enforce}\"");
            assert_eq!(with(&fields, path).await, (200, 0), "{enforce} {path}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_sets_what_a_handler_answers() {
    let locks = TestLocks::new();
    let fields = "busy_status = 409\nbusy_detail = \"Edited.\"\n\
        unavailable_status = 500";
    let app = app(&policies(&locks, &rule("handler", fields)));
    let problem = beside(&locks, &app, "/orders/7").await.0.assert_problem(409, "lock-busy");
    assert_eq!(problem["detail"], "Edited.");
    locks.store_down();
    call(&app, "PUT", "/orders/7").await.assert_problem(500, "lock-unavailable");
}

#[distributed_lock(
    key = "order:{id}",
    name = "answering",
    on_busy = "fail",
    busy_status = 409,
    unavailable_status = 500
)]
async fn answering(Path(id): Path<u64>) -> String {
    id.to_string()
}

/// The answer of that handler while another request has its lock, and the seconds until it came.
async fn of_answering(fields: &str) -> (Answer, u64) {
    let locks = TestLocks::new();
    let app = Router::new().route("/orders/{id}", put(answering));
    let app = app.route_layer(policies(&locks, &rule("answering", fields)).layer());
    beside(&locks, &app, "/orders/7").await
}

#[tokio::test(start_paused = true)]
async fn a_rule_overrides_the_status_and_the_conduct_of_an_attribute() {
    for (fields, status, waited) in [
        ("", 409, 0),
        ("busy_status = 429", 429, 0),
        ("busy_detail = \"Edited.\"\nlost_status = 500", 409, 0),
        ("wait = \"5s\"", 409, 5),
        ("on_busy = \"wait\"", 409, 1),
        ("on_busy = \"fail\"", 409, 0),
    ] {
        let (answer, after) = of_answering(fields).await;
        let problem = answer.assert_problem(status, "lock-busy");
        assert_eq!((&problem["status"], after), (&status.into(), waited), "{fields}");
        assert_eq!(problem["detail"] == "Edited.", fields.contains("Edited"), "{fields}");
    }
    assert_eq!(with("on_busy = \"fail\"", "/stock/7").await, (409, 0), "of a function");
}

#[tokio::test(start_paused = true)]
async fn a_rules_fallback_sees_the_request_of_a_handler() {
    let locks = TestLocks::new();
    let fields = "busy_fallback = \"stale\"";
    let rules = rule("handler", fields) + &rule("no-arguments", fields);
    let app = app(&policies(&locks, &rules));
    assert_eq!(beside(&locks, &app, "/orders/7").await.0.text, "stale /orders/7");
    // A handler without arguments has nothing to see it by.
    assert_eq!(beside(&locks, &app, "/all").await.0.text, "stale nowhere");
}

#[tokio::test(start_paused = true)]
async fn a_rule_sets_until_when_a_handler_holds() {
    use tower::ServiceExt;
    for (fields, is_free) in [("", true), ("hold_until = \"body\"", false)] {
        let locks = TestLocks::new();
        let app = app(&policies(&locks, &rule("handler", fields)));
        let answer = app.oneshot(request("PUT", "/orders/7")).await.unwrap();
        locks.pass(Duration::from_secs(1)).await;
        let free = locks.another_replica().write("order:7").try_acquire().await.is_ok();
        assert_eq!(free, is_free, "{fields}");
        drop(answer);
        drop(locks.hold("order:7").await);
    }
}

/// How long the lock outlives a store that does not answer any more.
#[tokio::test(start_paused = true)]
async fn a_rule_sets_an_attributes_lease() {
    #[distributed_lock(key = "long", name = "long")]
    async fn long() {
        std::future::pending::<()>().await;
    }
    async fn lost(locks: &TestLocks, rules: &str) -> u64 {
        let app = Router::new().route("/long", put(long));
        let app = app.route_layer(policies(locks, rules).layer());
        let request = tokio::spawn(async move { call(&app, "PUT", "/long").await });
        locks.pass(Duration::from_millis(10)).await;
        locks.store_down();
        let began = Instant::now();
        request.await.unwrap().assert_problem(503, "lock-lost");
        began.elapsed().as_secs()
    }
    assert!(lost(&TestLocks::new(), "").await > 20);
    assert!(lost(&TestLocks::new(), &rule("long", "lease = \"3s\"")).await < 3);
}

#[tokio::test(start_paused = true)]
async fn a_file_inside_of_another_has_the_last_word_on_what_it_names() {
    let locks = TestLocks::new();
    let outer = rule("handler", "busy_fallback = \"stale\"") + &rule("function", WAITS_9);
    let inner = policies(&locks, &rule("function", "wait = \"5s\""));
    let app = routes().route_layer(inner.layer()).route_layer(policies(&locks, &outer).layer());
    assert_eq!(beside(&locks, &app, "/stock/7").await.1, 5, "the inner one counts");
    assert_eq!(beside(&locks, &app, "/orders/7").await.0.text, "stale /orders/7");
}

const WAITS_9: &str = "wait = \"9s\"";

/// The policy, a layer and an attribute on one key are one hold.
#[tokio::test(start_paused = true)]
async fn a_rule_a_layer_and_an_attribute_on_one_key_enter_one_hold() {
    let locks = TestLocks::new();
    let route = "[[policy]]\nname = \"order\"\nmatch = { path = \"/orders/{id}\" }\n\
        key = \"order:{id}\"\n";
    let policies = policies(&locks, &(route.to_owned() + &rule("handler", "wait = \"0s\"")));
    let layer = RequestLockLayer::new(locks.client(), "order:{id}").unwrap();
    let app = Router::new().route("/orders/{id}", put(update));
    let app = app.route_layer(layer).route_layer(policies.layer()).route_layer(policies.layer());
    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "7 held");
    drop(locks.hold("order:7").await);
}

#[tokio::test(start_paused = true)]
async fn a_rule_for_an_unknown_attribute_is_reported() {
    let locks = TestLocks::new();
    let rules = rule("misspelt-handler", "") + &rule("no-arguments", "");
    let policies = policies(&locks, &rules);
    call(&app(&policies), "GET", "/all").await;
    assert_eq!(policies.attributes_not_seen(), ["misspelt-handler"]);
}

#[distributed_lock(key = "unnamed", wait = "2s")]
async fn unnamed() {}

/// The name of an attribute begins with its crate.
#[tokio::test(start_paused = true)]
async fn a_rule_with_the_end_of_an_attributes_name_is_logged_once() {
    let (locks, logs) = (TestLocks::new(), Logs::collect());
    let policies = policies(&locks, &(rule("named", "") + &rule("policy_attributes::unnamed", "")));
    let layer = RequestScopeLayer::new(locks.client());
    let app = Router::new().route("/unnamed", get(unnamed)).route_layer(layer);
    let app = app.route_layer(policies.layer());
    for _ in 0..2 {
        assert_eq!(call(&app, "GET", "/unnamed").await.status, 200);
    }
    let text = logs.text();
    let logged =
        text.matches("the attribute `it::policy_attributes::unnamed` runs without this rule");
    assert_eq!(logged.count(), 1, "{text}");
}

/// Names the case for a child process with `LOCK_TOWER_ENFORCE`, which is read once in a process.
const SHOWS: &str = "SHOWS";

/// Runs this test again in a child process.
fn under(enforce: &str, shows: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "policy_attributes::the_environment_counts_more_than_the_file",
            "--exact",
            "--nocapture",
        ])
        .env("LOCK_TOWER_ENFORCE", enforce)
        .env(SHOWS, shows)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn the_environment_counts_more_than_the_file() {
    let Ok(shows) = std::env::var(SHOWS) else {
        under("off", "off");
        under("handler=off,function=off,order=off,no-arguments=shadow", "off");
        under("on", "on");
        under("handler=on,function=on,no-arguments=on", "on");
        // A word that it does not know lets no lock go.
        under("of", "nothing");
        under("oder=off", "reported at the start");
        return;
    };
    let mut clock = tokio::runtime::Builder::new_current_thread();
    let runtime = clock.enable_all().start_paused(true).build().unwrap();
    match shows.as_str() {
        "off" => runtime.block_on(off_by_the_environment()),
        "on" => runtime.block_on(on_by_the_environment()),
        "nothing" => runtime.block_on(nothing_by_the_environment()),
        "reported at the start" => reported_at_the_start(),
        shows => panic!("{shows}"),
    }
}

async fn off_by_the_environment() {
    for path in ["/orders/7", "/all", "/stock/7"] {
        assert_eq!(with("enforce = \"on\"\nwait = \"9s\"", path).await, (200, 0), "{path}");
    }
    // Neither a custom layer nor a request that has no key is refused.
    let locks = TestLocks::new();
    let layer = RequestLockLayer::new(locks.client(), "{query.q}").unwrap().name("order");
    let app = Router::new().route("/", put(|| async { "done" })).route_layer(layer);
    assert_eq!(call(&app, "PUT", "/").await.text, "done");
}

async fn on_by_the_environment() {
    for (path, busy) in [("/orders/7", 423), ("/all", 423), ("/stock/7", 409)] {
        assert_eq!(with("enforce = \"off\"", path).await, (busy, 2), "{path}");
    }
}

fn reported_at_the_start() {
    let logs = Logs::collect();
    let _no_request_yet = policies(&TestLocks::new(), &rule("order", ""));
    let text = logs.text();
    assert!(text.contains("LOCK_TOWER_ENFORCE overrides the policy file"), "{text}");
    assert!(text.contains("names locks that the policy file does not have: oder;"), "{text}");
}

async fn nothing_by_the_environment() {
    assert_eq!(with("enforce = \"off\"", "/orders/7").await, (200, 0));
    assert_eq!(with("", "/orders/7").await, (423, 2));
}

#[tokio::test(start_paused = true)]
async fn outside_of_the_layer_the_file_does_not_apply() {
    let locks = TestLocks::new();
    let _unused = policies(&locks, &rule("handler", "wait = \"9s\""));
    let app = routes().route_layer(RequestScopeLayer::new(locks.client()));
    assert_eq!(beside(&locks, &app, "/orders/7").await.1, 2);
    let client = locks.client();
    let _held = client.write("stock:7").acquire().await.unwrap();
    assert!(take(&locks.another_replica(), 7).await.is_err());
}

/// A lock that is off or in shadow mode rejects no request.
#[tokio::test]
async fn a_function_without_a_key_runs_unlocked() {
    let path = format!("/named/{}", "x".repeat(600));
    for (enforce, status) in [("on", 400), ("shadow", 200), ("off", 200), ("50%", 200)] {
        let locks = TestLocks::new();
        let rules = rule("named", &format!("enforce = \"{enforce}\""));
        let answer = call(&app(&policies(&locks, &rules)), "PUT", &path).await;
        assert_eq!(answer.status, status, "{enforce}");
    }
}
