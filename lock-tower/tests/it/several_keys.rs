//! Several keys at once, around requests and functions.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::common::{NEVER, RELEASED, call, logs::Logs, send};
use axum::{Router, extract::Path, routing::any};
use lock_tower::{
    KeyTemplateError, Kind, LockClient, LockError, LockKey, Locked, MemoryStore, Mode,
    RequestLockLayer, RequestScopeLayer, distributed_lock, key::KeyRejection, settings::LockMode,
};
use tokio::sync::mpsc;

const TEMPLATES: [&str; 2] = ["account:{from:u64}", "account:{to:u64}"];

fn layer(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::multi(locks.clone(), TEMPLATES).unwrap().wait(Duration::ZERO)
}

fn app(layer: RequestLockLayer) -> Router {
    let tell = |lock: Locked| async move {
        let keys: Vec<_> = lock.views().iter().map(|view| view.key().to_string()).collect();
        keys.join(" ")
    };
    Router::new().route("/pay/{from}/{to}", any(tell)).route_layer(layer)
}

#[distributed_lock(
    keys = ["account:{from:u64}", "account:{to:u64}"],
    wait = "0s",
    name = "transfer"
)]
async fn transfer(Path((from, to)): Path<(String, String)>, lock: Locked) -> String {
    format!("{from} pays {to} with {} locks", lock.views().len())
}

fn transfers(locks: &LockClient) -> Router {
    Router::new()
        .route("/pay/{from}/{to}", any(transfer))
        .layer(RequestScopeLayer::new(locks.clone()))
}

async fn held(locks: &LockClient, key: &str) -> bool {
    locks.is_locked(key, Mode::Write).await.unwrap()
}

#[tokio::test]
async fn all_of_them_are_held() {
    let locks = LockClient::in_memory();
    assert_eq!(call(&app(layer(&locks)), "PUT", "/pay/9/007").await.text, "account:7 account:9");
    assert_eq!(call(&transfers(&locks), "PUT", "/pay/9/7").await.text, "9 pays 7 with 2 locks");
    for key in ["account:7", "account:9"] {
        assert!(locks.write(key).wait(RELEASED).acquire().await.is_ok(), "{key} is released");
    }
}

#[tokio::test]
async fn one_that_is_busy_leaves_the_others_free() {
    let locks = LockClient::in_memory();
    for busy in ["account:7", "account:9"] {
        let _elsewhere = locks.write(busy).wait(RELEASED).acquire().await.unwrap();
        for app in [app(layer(&locks).name("transfer")), transfers(&locks)] {
            let answer = call(&app, "PUT", "/pay/9/7").await;
            let document = answer.assert_problem(423, "lock-busy");
            assert_eq!(document["lock"], "transfer");
            assert!(!answer.text.contains(busy), "no key is reported: {document}");
        }
        let other = if busy == "account:7" { "account:9" } else { "account:7" };
        assert!(locks.write(other).try_acquire().await.is_ok(), "{other} beside {busy}");
    }
}

#[tokio::test]
async fn keys_that_turn_out_equal_are_locked_once() {
    let tell = |lock: Locked| async move {
        let held = lock.views().len();
        format!("{held} {}", lock.fencing_token_of("account:7") == Some(lock.fencing_token()))
    };
    for kind in [Kind::ReadWrite, Kind::NonReentrant, Kind::Fair] {
        let locks = LockClient::in_memory();
        let by_template = layer(&locks).kind(kind);
        let by_closure = RequestLockLayer::with_keys(locks.clone(), |_| Ok(["account:7"; 3]));
        let app = Router::new()
            .route("/pay/{from}/{to}", any(tell).layer(by_template))
            .route("/closure", any(tell).layer(by_closure.kind(kind)));
        assert_eq!(call(&app, "PUT", "/pay/7/007").await.text, "1 true", "{kind}");
        assert_eq!(call(&app, "PUT", "/closure").await.text, "1 true", "{kind}");
    }
    let locks = LockClient::in_memory();
    assert_eq!(call(&transfers(&locks), "PUT", "/pay/7/007").await.text, "7 pays 007 with 1 locks");
}

#[tokio::test]
async fn each_key_has_a_token_of_its_own() {
    let locks = LockClient::in_memory();
    // So that the two can be distinguished.
    let before = locks.write("account:7").acquire().await.unwrap();
    let tell = |lock: Locked| async move {
        let token = |key| lock.fencing_token_of(key).map(|token| token.get());
        assert_eq!(token("account:8"), None);
        (token("account:7").unwrap(), token("account:9").unwrap())
    };
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&tokens);
    let handler = async move |lock: Locked| {
        let both = tell(lock).await;
        reported.lock().unwrap().push(both);
    };
    let app = Router::new().route("/pay/{from}/{to}", any(handler)).route_layer(layer(&locks));
    let first = before.fencing_token().get();
    before.release().await.unwrap();
    for path in ["/pay/9/7", "/pay/7/9"] {
        assert_eq!(call(&app, "PUT", path).await.status, 200);
    }
    let tokens = tokens.lock().unwrap();
    let [(seven, nine), (later_seven, later_nine)] = tokens[..] else { panic!("{tokens:?}") };
    assert!(first < seven && seven < later_seven && nine < later_nine, "{first} {tokens:?}");
}

#[tokio::test]
async fn the_one_token_of_several_keys_does_not_exist() {
    let locks = LockClient::in_memory();
    let both = locks.multi_lock([locks.write("account:7"), locks.write("account:9")]);
    let guard = both.acquire().await.unwrap();
    let lock = Locked::of_all("transfer", &guard);
    assert_eq!(lock.fencing_token_of("account:7"), guard.fencing_token("account:7"));
    let panicked = tokio::spawn(async move { lock.fencing_token() }).await.unwrap_err();
    let text = panicked.into_panic().downcast::<String>().unwrap();
    assert!(text.contains("fencing_token_of"), "{text}");
}

#[tokio::test]
async fn the_least_remaining_and_the_weakest_mode_count() {
    let locks = LockClient::in_memory();
    let scope = locks.scope();
    let minute = Duration::from_secs(60);
    let nine = scope.write("account:9").lease(minute).acquire().await.unwrap();
    let both = locks.multi_lock([locks.read("account:7"), locks.read("account:9")]);
    let guard = both.lease(minute / 2).in_scope(&scope).acquire().await.unwrap();
    let lock = Locked::of_all("transfer", &guard);
    assert!(nine.remaining() > minute / 2);
    assert!(lock.remaining() <= minute / 2, "{:?}", lock.remaining());
    assert_eq!(lock.mode(), Mode::Read);
    assert!(lock.is_held());
    drop(guard);
    // One of them is gone, the other entered by the outer guard.
    assert!(!lock.is_held());
    assert_eq!(lock.remaining(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_first_lost_lock_cancels_the_handler_and_is_reported() {
    for gone in ["account:7", "account:9"] {
        let store = MemoryStore::new();
        let locks = LockClient::builder().in_memory_on(&store);
        let (tell, mut reported) = mpsc::unbounded_channel();
        let handler = async move |lock: Locked| {
            let lost = lock.lost();
            tell.send(None).unwrap();
            tokio::spawn(async move { tell.send(Some(lost.await.key().to_string())) });
            tokio::time::sleep(NEVER).await;
        };
        let app = Router::new().route("/pay/{from}/{to}", any(handler)).route_layer(layer(&locks));
        let answer = tokio::spawn(async move { call(&app, "PUT", "/pay/9/7").await });
        assert_eq!(reported.recv().await, Some(None), "it has begun");
        store.remove(&LockKey::try_from(gone).unwrap());
        answer.await.unwrap().assert_problem(503, "lock-lost");
        let first = tokio::time::timeout(NEVER, reported.recv()).await;
        assert_eq!(first.unwrap().flatten().as_deref(), Some(gone));
        for key in ["account:7", "account:9"] {
            assert!(locks.write(key).wait(RELEASED).acquire().await.is_ok(), "{key} is released");
        }
    }
}

/// If they waited, only the paused clock would advance, to the end of their waits.
#[tokio::test(start_paused = true)]
async fn opposite_orders_do_not_wait_for_each_other() {
    let locks = LockClient::builder().wait(NEVER).in_memory();
    let work = |_: Locked| async { tokio::task::yield_now().await };
    let layered = Router::new()
        .route("/pay/{from}/{to}", any(work))
        .route_layer(RequestLockLayer::multi(locks.clone(), TEMPLATES).unwrap());
    let mut requests = tokio::task::JoinSet::new();
    for turn in 0..100 {
        let app = layered.clone();
        let path = if turn % 2 == 0 { "/pay/7/9" } else { "/pay/9/7" };
        requests.spawn(async move { call(&app, "PUT", path).await.status });
    }
    let all = requests.join_all().await;
    assert!(all.iter().all(|status| *status == 200), "{all:?}");
}

/// A layer and an attribute inside it, on keys of which some are the same.
async fn nested(locks: &LockClient, layer: RequestLockLayer, path: &str) -> String {
    #[distributed_lock(keys = ["account:{from}", "account:{to}"], wait = "0s")]
    async fn inner(Path((from, to)): Path<(u64, u64)>, lock: Locked) -> String {
        let keys: Vec<_> = lock.views().iter().map(|view| view.key().to_string()).collect();
        keys.join(" ")
    }
    let app = Router::new().route("/pay/{from}/{to}", any(inner)).route_layer(layer);
    let text = call(&app, "PUT", path).await.text;
    for key in ["account:7", "account:8", "account:9"] {
        assert!(locks.write(key).wait(RELEASED).acquire().await.is_ok(), "{key} is released");
    }
    text
}

#[tokio::test]
async fn a_subset_an_overlap_and_the_same_keys_are_entered_again() {
    let locks = LockClient::in_memory();
    let of = |keys: &'static [&'static str]| {
        RequestLockLayer::with_keys(locks.clone(), move |_| Ok(keys.to_vec()))
    };
    let subset = of(&["account:7", "account:8", "account:9"]);
    assert_eq!(nested(&locks, subset, "/pay/9/7").await, "account:7 account:9");
    let overlap = of(&["account:7", "account:8"]);
    assert_eq!(nested(&locks, overlap, "/pay/9/7").await, "account:7 account:9");
    let same = of(&["account:9", "account:7"]);
    assert_eq!(nested(&locks, same, "/pay/9/7").await, "account:7 account:9");
    let one = of(&["account:9"]);
    assert_eq!(nested(&locks, one, "/pay/9/7").await, "account:7 account:9");
}

#[tokio::test]
async fn an_overlap_counts_on_one_hold() {
    let locks = LockClient::in_memory();
    let inner = locks.clone();
    let count = async move || {
        let count = async |key| inner.hold_count(key, Mode::Write).await.unwrap();
        format!("{} {} {}", count("a").await, count("b").await, count("c").await)
    };
    let layer = |keys: [&'static str; 2]| {
        RequestLockLayer::with_keys(locks.clone(), move |_| Ok(keys)).mode(LockMode::Write)
    };
    let app = Router::new()
        .route("/", any(count))
        .route_layer(layer(["c", "b"]))
        .route_layer(layer(["a", "b"]));
    assert_eq!(call(&app, "PUT", "/").await.text, "1 2 1");
}

#[tokio::test]
async fn one_of_several_keys_read_around_a_write_is_a_mistake() {
    let logs = Logs::collect();
    let locks = LockClient::in_memory();
    let reads = RequestLockLayer::multi(locks.clone(), ["ledger", "account:{to:u64}"]).unwrap();
    let app = Router::new()
        .route("/pay/{from}/{to}", any(transfer))
        .route_layer(reads.name("statement").mode(LockMode::Read));

    let document = call(&app, "PUT", "/pay/9/7").await.assert_problem(500, "lock-misconfigured");

    assert_eq!(document["lock"], "transfer");
    let lines = logs.lines();
    let [line] = &lines[..] else { panic!("one line: {lines:?}") };
    // The one key that is in the way, not the other.
    assert!(
        line.contains("`statement` (key `account:{to:u64}`) reads the key that `transfer`"),
        "{line}"
    );
    for key in ["ledger", "account:7", "account:9"] {
        assert!(locks.write(key).wait(RELEASED).acquire().await.is_ok(), "{key} is released");
    }
}

#[test]
fn lists_of_templates_that_are_none_are_refused_at_once() {
    let refused = |templates: &[&'static str]| {
        let templates = templates.iter().copied();
        RequestLockLayer::multi(LockClient::in_memory(), templates).unwrap_err()
    };
    assert!(matches!(refused(&[]), KeyTemplateError::None));
    let twice = refused(&["account:{from}", "ledger", "account:{from}"]);
    assert!(matches!(&twice, KeyTemplateError::Twice { template } if template == "account:{from}"));
    assert!(matches!(refused(&["ledger", "a:{"]), KeyTemplateError::Template { .. }));
}

#[tokio::test]
async fn the_name_of_several_templates_is_all_of_them() {
    let locks = LockClient::in_memory();
    let _elsewhere = locks.write("account:7").acquire().await.unwrap();
    let document = call(&app(layer(&locks)), "PUT", "/pay/9/7").await.problem();
    assert_eq!(document["lock"], "account:{from:u64}, account:{to:u64}");
}

#[tokio::test]
async fn a_value_that_is_refused_in_any_key_is_the_clients_fault() {
    let locks = LockClient::in_memory();
    for app in [app(layer(&locks)), transfers(&locks)] {
        for path in ["/pay/x/7", "/pay/7/x"] {
            call(&app, "PUT", path).await.assert_problem(400, "lock-key-invalid");
        }
    }
}

#[tokio::test]
async fn a_closure_without_any_key_never_runs_the_handler() {
    let logs = Logs::collect();
    let layer = RequestLockLayer::with_keys(LockClient::in_memory(), |parts| {
        let ids = parts.headers.get("x-orders").ok_or(KeyRejection::missing("no `x-orders`"))?;
        let ids = ids.to_str().map_err(|_| KeyRejection::invalid("`x-orders` is not text"))?;
        Ok(ids.split(',').filter(|id| !id.is_empty()).map(str::to_owned).collect::<Vec<_>>())
    });
    let app =
        Router::new().route("/", any(|lock: Locked| async move { lock.views().len().to_string() }));
    let app = app.route_layer(layer);
    let ask = async |ids: &'static str| {
        let request =
            http::Request::put("/").header("x-orders", ids).body(axum::body::Body::empty());
        send(&app, request.unwrap()).await
    };
    assert_eq!(ask("b,a,b").await.text, "2");
    ask("").await.assert_problem(500, "lock-misconfigured");
    assert!(logs.lines()[0].contains("gave no key"), "{:?}", logs.lines());
    call(&app, "PUT", "/").await.assert_problem(400, "lock-key-missing");
}

#[tokio::test]
async fn a_function_takes_all_of_its_keys() {
    #[distributed_lock(keys = ["account:{from}", "account:{to}"], client = locks, wait = "0s")]
    async fn transfer(locks: &LockClient, from: u64, to: u64) -> Result<bool, LockError> {
        let both = held(locks, &format!("account:{from}")).await
            && held(locks, &format!("account:{to}")).await;
        Ok(both)
    }
    let locks = LockClient::in_memory();
    assert!(transfer(&locks, 7, 9).await.unwrap());
    assert!(transfer(&locks, 7, 7).await.unwrap());
    let elsewhere = locks.write("account:9").wait(RELEASED).acquire().await.unwrap();
    assert!(transfer(&locks, 7, 9).await.is_err());
    assert!(locks.write("account:7").try_acquire().await.is_ok());
    drop(elsewhere);
}
