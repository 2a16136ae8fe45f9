//! Several locks of different kinds in one step, around requests and functions: a limit for all, one for
//! each tenant, and a lock on the report.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Path,
    response::Response,
    routing::{any, post},
};
use lock_conformance::{CommandKind, Delivery, FaultPlan, faulty};
use lock_tower::{
    AcquireError, Enforce, Fence, FencingToken, KeyTemplateError, Kind, LockClient, LockError,
    Locked, MemoryStore, Mode, OnMissingKey, OnStoreDown, PrincipalLimit, RequestLockLayer,
    RequestScopeLayer, distributed_lock,
    key::LockTemplate,
    policies::Policies,
    settings::{LockMode, OnBusy},
};
use serde_json::json;
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};
use tower::Layer;

use crate::common::{Answer, NEVER, RELEASED, call, gated_work, logs::Logs, metrics::Metrics};

fn locks_of_an_export() -> [LockTemplate; 3] {
    [
        LockTemplate::semaphore("exports", 3),
        LockTemplate::semaphore("exports:{tenant:lower}", 1),
        LockTemplate::write("report:{id:u64}"),
    ]
}

/// Applies a layer, as a router does when it is used first.
fn construct(layer: &RequestLockLayer) {
    let _service = layer.layer(());
}

fn layer(locks: &LockClient) -> RequestLockLayer {
    let layer = RequestLockLayer::all(locks.clone(), locks_of_an_export()).unwrap();
    layer.name("export").wait(Duration::ZERO)
}

/// A service whose requests work until they are ended one by one.
struct World {
    locks: LockClient,
    app: Router,
    began: mpsc::UnboundedReceiver<Locked>,
    goes_on: Arc<Semaphore>,
}

fn world_on(locks: LockClient, layer: impl FnOnce(&LockClient) -> RequestLockLayer) -> World {
    let (work, began, goes_on) = gated_work("exported");
    let app = Router::new().route("/{tenant}/{id}", any(work)).route_layer(layer(&locks));
    World { locks, app, began, goes_on }
}

fn world(layer: impl FnOnce(&LockClient) -> RequestLockLayer) -> World {
    world_on(LockClient::in_memory(), layer)
}

impl World {
    fn send(&self, path: &'static str) -> JoinHandle<Answer> {
        let app = self.app.clone();
        tokio::spawn(async move { call(&app, "POST", path).await })
    }

    async fn at_work(&mut self, path: &'static str) -> (JoinHandle<Answer>, Locked) {
        let request = self.send(path);
        (request, self.began.recv().await.unwrap())
    }

    async fn ends(&self, request: JoinHandle<Answer>) {
        self.goes_on.add_permits(1);
        assert_eq!(request.await.unwrap().text, "exported");
    }

    async fn free(&self, key: &str, permits: u32) -> i64 {
        self.locks.semaphore(key, permits).free_permits().await.unwrap()
    }

    /// Until everything is released.
    async fn is_free(&self) {
        let all = self.locks.semaphore("exports", 3).permits(3).wait(RELEASED).acquire().await;
        all.unwrap().release().await.unwrap();
    }
}

/// The user's problem: with two layers, the waiting requests of one tenant take the permits of all.
#[tokio::test(start_paused = true)]
async fn a_tenant_that_waits_for_its_limit_takes_nothing_of_the_limit_of_all() {
    let mut world = world(|locks| layer(locks).wait(NEVER));
    let (first, _) = world.at_work("/acme/1").await;
    let waiting = [world.send("/acme/2"), world.send("/acme/3"), world.send("/ACME/4")];
    let waits = async || world.locks.inspect("exports:acme").await.unwrap().waiters.len() == 1;
    while !waits().await {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.free("exports", 3).await, 2);
    let (second, _) = world.at_work("/umbrella/5").await;
    let (third, _) = world.at_work("/hooli/6").await;
    assert_eq!(world.free("exports", 3).await, 0);
    for request in [first, second, third] {
        world.ends(request).await;
    }
    for request in waiting {
        world.began.recv().await.unwrap();
        world.ends(request).await;
    }
    world.is_free().await;
}

#[tokio::test]
async fn a_refusal_names_the_lock_that_was_busy() {
    let logs = Logs::collect();
    let metrics = Metrics::collect();
    let mut world = world(layer);
    let (working, _) = world.at_work("/acme/1").await;
    let elsewhere = world.locks.semaphore("exports", 3).permits(2).acquire().await.unwrap();

    let all = world.send("/umbrella/2").await.unwrap().assert_problem(423, "lock-busy");
    assert_eq!(
        [&all["lock"], &all["busy"], &all["kind"], &all["mode"], &all["permits"]],
        [&json!("export"), &json!("exports"), &json!("semaphore"), &json!("write"), &json!(3)]
    );
    elsewhere.release().await.unwrap();

    let tenant = world.send("/Acme/2").await.unwrap().assert_problem(423, "lock-busy");
    assert_eq!(
        [&tenant["busy"], &tenant["permits"]],
        [&json!("exports:{tenant:lower}"), &json!(1)]
    );

    let answer = world.send("/umbrella/1").await.unwrap();
    let report = answer.assert_problem(423, "lock-busy");
    assert_eq!(
        [&report["busy"], &report["kind"], &report["permits"]],
        [&json!("report:{id:u64}"), &json!("read_write"), &json!(null)]
    );

    let lines: Vec<_> =
        logs.lines().into_iter().filter(|line| line.contains("not carried out")).collect();
    for (line, busy) in lines.iter().zip(["exports", "exports:{tenant:lower}", "report:{id:u64}"]) {
        assert!(line.contains(&format!("policy=\"export\" busy=\"{busy}\"")), "{line}");
        assert!(!line.contains("acme"), "{line}");
    }
    assert_eq!(lines.len(), 3);
    // One policy, one series.
    let busy = r#"lock_requests_total{policy="export",mode="write",outcome="lock-busy"}"#;
    assert_eq!(metrics.value(busy), 3.0);
    world.ends(working).await;
    world.is_free().await;
}

#[tokio::test]
async fn a_handler_sees_each_of_its_locks() {
    let mut world = world(layer);
    let (working, lock) = world.at_work("/acme/7").await;
    let kinds: Vec<_> =
        lock.views().iter().map(|view| (view.key().to_string(), view.kind())).collect();
    let expected = [
        ("exports", Kind::Semaphore),
        ("exports:acme", Kind::Semaphore),
        ("report:7", Kind::ReadWrite),
    ];
    assert_eq!(kinds, expected.map(|(key, kind)| (key.to_owned(), kind)));
    // A semaphore has no token.
    assert_eq!(lock.fencing_token_of("exports"), Some(FencingToken::NONE));
    assert!(lock.fencing_token_of("report:7") > Some(FencingToken::NONE));
    assert_eq!(lock.mode(), Mode::Write);
    // It would wait for permits that it has.
    assert!(matches!(lock.keep().await, Err(AcquireError::InvalidOptions(_))));
    world.ends(working).await;
}

#[tokio::test]
async fn locks_without_permits_are_kept_in_their_modes() {
    let locks = LockClient::in_memory();
    let copy = [LockTemplate::read("doc:{from}"), LockTemplate::write("doc:{to}")];
    let layer = RequestLockLayer::all(locks.clone(), copy).unwrap().name("copy");
    let (tell, mut kept) = mpsc::unbounded_channel();
    let handler = async move |lock: Locked| {
        tell.send(lock.keep().await.unwrap()).unwrap();
        let modes = lock.views().iter().map(|view| format!("{} {}", view.key(), view.mode()));
        modes.collect::<Vec<_>>().join(", ")
    };
    let app = Router::new().route("/{from}/{to}", any(handler)).route_layer(layer);
    assert_eq!(call(&app, "GET", "/1/2").await.text, "doc:1 read, doc:2 write");
    let guard = kept.recv().await.unwrap();
    assert!(locks.read("doc:1").try_acquire().await.is_ok());
    assert!(locks.write("doc:1").try_acquire().await.is_err());
    assert!(locks.read("doc:2").try_acquire().await.is_err());
    guard.release().await.unwrap();
    // One key is read and written: it is written.
    assert_eq!(call(&app, "GET", "/3/3").await.text, "doc:3 write");
}

#[tokio::test]
async fn a_key_that_turns_out_as_two_limits_is_a_mistake() {
    let logs = Logs::collect();
    let locks = LockClient::in_memory();
    let limits = [LockTemplate::semaphore("jobs:{a}", 3), LockTemplate::semaphore("jobs:{b}", 2)];
    let layer = RequestLockLayer::all(locks, limits).unwrap().name("jobs");
    let app = Router::new().route("/{a}/{b}", any(|| async { "done" })).route_layer(layer);
    assert_eq!(call(&app, "POST", "/x/y").await.text, "done");
    let answer = call(&app, "POST", "/secret/secret").await;
    answer.assert_problem(500, "lock-misconfigured");
    let lines = logs.lines();
    let line = lines.last().unwrap();
    assert!(line.contains("`jobs:{a}` and `jobs:{b}` give one key"), "{line}");
    assert!(!line.contains("secret"), "{line}");
}

#[test]
fn lists_that_are_none_are_refused_at_once() {
    let refused = |locks: Vec<LockTemplate>| {
        RequestLockLayer::all(LockClient::in_memory(), locks).unwrap_err()
    };
    assert!(matches!(refused(vec![]), KeyTemplateError::None));
    let twice = [LockTemplate::read("a:{id}"), LockTemplate::write("a:{id}")];
    assert!(matches!(refused(twice.into()), KeyTemplateError::Twice { .. }));
    let kinds = [LockTemplate::semaphore("a:{id}", 3), LockTemplate::write("a:{id}:{part}")];
    assert_eq!(RequestLockLayer::all(LockClient::in_memory(), kinds).err(), None);
    let kinds = [LockTemplate::semaphore("a-{id}", 3), LockTemplate::write("a-{id}-all")];
    let text = refused(kinds.into()).to_string();
    assert!(text.contains("`a-{id}` and `a-{id}-all` can give one key, such as `a-"), "{text}");
    assert!(matches!(refused(vec![LockTemplate::read("a:{")]), KeyTemplateError::Template { .. }));
}

#[tokio::test]
async fn settings_of_the_layer_that_each_lock_has_are_mistakes() {
    let logs = Logs::collect();
    type Change = fn(RequestLockLayer) -> RequestLockLayer;
    let changes: [(&str, Change); 7] = [
        ("kind", |layer| layer.kind(Kind::Fair)),
        ("mode", |layer| layer.mode(LockMode::Read)),
        ("weight", |layer| layer.weight(2)),
        ("semaphore", |layer| layer.semaphore(2)),
        ("semaphore_by", |layer| layer.semaphore_by(|_| 2)),
        ("constant", |layer| {
            layer.on_missing_key(OnMissingKey::Constant("none".try_into().unwrap()))
        }),
        ("replace", |layer| layer.on_busy(OnBusy::Replace).replace_by("anyone")),
    ];
    for (name, change) in changes {
        let app = Router::new().route("/{tenant}/{id}", any(|| async { "done" }));
        let layer = change(layer(&LockClient::in_memory()).wait(NEVER));
        let before = logs.lines().len();
        construct(&layer);
        let app = app.route_layer(layer);
        let found = logs.lines().len() - before;
        assert!(found == 1 || name == "replace", "{name} is logged at construction");
        let answer = call(&app, "POST", "/acme/7").await;
        answer.assert_problem(500, "lock-misconfigured");
    }
    for wrong in [
        LockTemplate::semaphore("none", 0),
        LockTemplate::semaphore("few", 2).weight(3),
        LockTemplate::read("exclusive").kind(Kind::Fair),
    ] {
        let layer = RequestLockLayer::all(LockClient::in_memory(), [wrong.clone()]).unwrap();
        let before = logs.lines().len();
        construct(&layer);
        let app = Router::new().route("/", any(|| async { "done" })).route_layer(layer);
        assert_eq!(logs.lines().len(), before + 1, "{wrong:?}");
        call(&app, "GET", "/").await.assert_problem(500, "lock-misconfigured");
    }
}

#[tokio::test]
async fn locks_that_contradict_those_further_out_are_described_by_their_templates() {
    let logs = Logs::collect();
    let locks = LockClient::in_memory();
    let outer = [LockTemplate::semaphore("exports", 3), LockTemplate::read("report:{id}")];
    let outer = RequestLockLayer::all(locks.clone(), outer).unwrap().name("outer");
    let inner = [LockTemplate::semaphore("jobs", 3), LockTemplate::write("report:{id}")];
    let inner = RequestLockLayer::all(locks.clone(), inner).unwrap().name("inner");
    let app = Router::new().route("/{id}", any(|| async { "done" }));
    let app = app.route_layer(inner).route_layer(outer);
    call(&app, "GET", "/7").await.assert_problem(500, "lock-misconfigured");
    let lines = logs.lines();
    let line = lines.last().unwrap();
    assert!(line.contains("`outer` (key `report:{id}`) reads the key that `inner`"), "{line}");
    // Permits are taken again, and a lock that fits is entered again.
    let twice = || RequestLockLayer::all(locks.clone(), locks_of_an_export()).unwrap();
    let app = Router::new().route("/{tenant}/{id}", any(|| async { "done" }));
    let app = app.route_layer(twice().wait(Duration::ZERO)).route_layer(twice());
    let busy = call(&app, "POST", "/acme/7").await.assert_problem(423, "lock-busy");
    assert_eq!(busy["busy"], "exports:{tenant:lower}");
}

#[tokio::test]
async fn each_of_them_counts_for_the_limited_principal() {
    let limited = |most| {
        world(|locks| {
            layer(locks).limit_principals(PrincipalLimit::new(most, |_| Some("jane".to_owned())))
        })
    };
    limited(2).send("/acme/1").await.unwrap().assert_problem(429, "lock-over-limit");
    let mut world = limited(5);
    let (working, _) = world.at_work("/acme/1").await;
    world.send("/umbrella/2").await.unwrap().assert_problem(429, "lock-over-limit");
    world.ends(working).await;
    let (working, _) = world.at_work("/umbrella/2").await;
    world.ends(working).await;
}

#[tokio::test]
async fn none_of_them_has_the_token_of_a_fence() {
    let locks = LockClient::in_memory();
    let app = Router::new()
        .route("/{tenant}/{id}", any(|_: Option<Fence>| async { "done" }))
        .route_layer(layer(&locks));
    call(&app, "POST", "/acme/1").await.assert_problem(500, "lock-misconfigured");
}

#[tokio::test]
async fn in_shadow_mode_they_are_measured_and_refuse_nothing() {
    let metrics = Metrics::collect();
    let mut world = world(|locks| layer(locks).enforce(Enforce::Shadow));
    let (first, lock) = world.at_work("/acme/1").await;
    assert!(lock.unlocked().is_some());
    assert_eq!(world.free("exports", 3).await, 3);
    // The measurement has them under other keys.
    while world.free("lock-shadow:exports", 3).await > 2 {
        tokio::task::yield_now().await;
    }
    assert!(world.locks.write("lock-shadow:report:1").try_acquire().await.is_err());
    let (second, _) = world.at_work("/acme/2").await;
    world.ends(first).await;
    world.ends(second).await;
    let overlaps = metrics.value(r#"lock_shadow_overlaps_total{policy="export"}"#);
    assert_eq!(overlaps, 1.0);
}

#[tokio::test]
async fn without_the_store_they_are_taken_in_this_process() {
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    let mut world = world_on(locks, |locks| layer(locks).on_store_down(OnStoreDown::Local));
    store.set_down(true);
    let (working, lock) = world.at_work("/acme/1").await;
    assert!(lock.unlocked().is_some() && lock.remaining() > Duration::ZERO);
    let refused = world.send("/acme/2").await.unwrap().assert_problem(423, "lock-busy");
    assert_eq!(refused["busy"], "exports:{tenant:lower}");
    let (other, _) = world.at_work("/umbrella/2").await;
    world.ends(working).await;
    world.ends(other).await;
}

/// As in a cluster without a common hash tag, and on ZooKeeper.
#[derive(Debug)]
struct OneByOne;

impl FaultPlan for OneByOne {
    fn delivery(&self, _: CommandKind) -> Delivery {
        Delivery::AT_ONCE
    }

    fn supports_atomic_multi(&self) -> bool {
        false
    }
}

fn one_by_one() -> LockClient {
    faulty(LockClient::builder(), &MemoryStore::new(), Arc::new(OneByOne))
}

const STEPS: &str = "acquires these locks one after the other";

#[tokio::test]
async fn where_they_are_acquired_one_by_one_construction_says_so_once() {
    let logs = Logs::collect();
    let warned = || logs.lines().iter().filter(|line| line.contains(STEPS)).count();
    let app = || Router::new().route("/{tenant}/{id}", any(|| async { "done" }));
    let in_steps = layer(&one_by_one());
    construct(&in_steps);
    let router = app().route_layer(in_steps.clone());
    assert_eq!(warned(), 1);
    assert!(
        logs.lines().iter().any(|line| line.contains("`{{exports}}:all`")),
        "{:?}",
        logs.lines()
    );
    assert_eq!(call(&router, "POST", "/acme/1").await.status, 200);
    construct(&in_steps);
    construct(&layer(&LockClient::in_memory()));
    construct(&RequestLockLayer::new(one_by_one(), "order:{id:u64}").unwrap());
    assert_eq!(warned(), 1);

    let file = |rule| format!("version = 1\n[[policy]]\nname = \"a\"\nmatch = {{}}\n{rule}");
    let policies = |rule| {
        let builder = Policies::builder(one_by_one());
        drop(builder.parse("locks.toml", &file(rule)).unwrap());
    };
    policies("key = \"a\"");
    assert_eq!(warned(), 1);
    policies("locks = [{ key = \"a\" }, { key = \"b\", kind = \"semaphore\", permits = 2 }]");
    assert_eq!(warned(), 2);
    policies("keys = [\"a\", \"b\"]");
    assert_eq!(warned(), 3);

    for _ in 0..2 {
        both(&one_by_one()).await.unwrap();
    }
    assert_eq!(warned(), 4);
}

#[distributed_lock(
    all(
        semaphore("exports", permits = 3),
        semaphore("exports:{tenant:lower}", permits = 1),
        write("report:{id}"),
    ),
    client = locks,
    wait = "0s",
    name = "export"
)]
async fn exported(locks: &LockClient, tenant: &str, id: u64) -> Result<u64, LockError> {
    let free = locks.semaphore("exports", 3).free_permits().await.unwrap();
    assert_eq!(free, 2, "{tenant}");
    Ok(id)
}

#[distributed_lock(keys = ["a", "b"], client = locks)]
async fn both(locks: &LockClient) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(
    all(semaphore("exports", permits = 3, weight = 2), read("report:{id:u64}")),
    wait = "0s",
    name = "reader"
)]
async fn reader(Path((_, id)): Path<(String, String)>, lock: Locked) -> String {
    let kinds: Vec<_> = lock.views().iter().map(|view| view.kind().to_string()).collect();
    format!("{id} {}", kinds.join(" "))
}

#[distributed_lock(
    all(semaphore("exports", permits = 3), fair("report:{id}")),
    client = locks,
    wait = "0s"
)]
async fn answered(locks: LockClient, id: u64) -> Response {
    let _ = (locks, id);
    Response::default()
}

#[tokio::test]
async fn a_function_has_all_of_its_locks_or_none() {
    let locks = LockClient::in_memory();
    assert_eq!(exported(&locks, "acme", 7).await.unwrap(), 7);
    let report = locks.write("report:7").wait(RELEASED).acquire().await.unwrap();
    let refused = exported(&locks, "acme", 7).await.unwrap_err();
    let LockError::Acquire(AcquireError::Busy(busy)) = refused else { panic!("{refused}") };
    assert_eq!(busy.key().as_str(), "report:7");
    assert_eq!(locks.semaphore("exports", 3).free_permits().await.unwrap(), 3);
    report.release().await.unwrap();
    let _tenant = locks.semaphore("exports:acme", 1).permit().acquire().await.unwrap();
    let refused = exported(&locks, "ACME", 7).await.unwrap_err();
    let LockError::Acquire(AcquireError::Busy(busy)) = refused else { panic!("{refused}") };
    assert_eq!(busy.key().as_str(), "exports:acme");
}

#[tokio::test]
async fn a_handler_under_an_attribute_is_refused_by_name() {
    let locks = LockClient::in_memory();
    let inner = locks.clone();
    let app = Router::new()
        .route("/read/{tenant}/{id}", any(reader))
        .route("/answer/{id}", post(move |Path(id): Path<u64>| answered(inner.clone(), id)))
        .layer(RequestScopeLayer::new(locks.clone()));
    assert_eq!(call(&app, "PUT", "/read/acme/7").await.text, "7 semaphore read_write");
    let _writer = locks.write("report:7").wait(RELEASED).acquire().await.unwrap();
    let busy = call(&app, "PUT", "/read/acme/7").await.assert_problem(423, "lock-busy");
    assert_eq!(
        [&busy["lock"], &busy["busy"], &busy["mode"]],
        [&json!("reader"), &json!("report:{id:u64}"), &json!("read")]
    );
    let _two = locks.semaphore("exports", 3).permits(2).wait(RELEASED).acquire().await.unwrap();
    let busy = call(&app, "PUT", "/read/acme/8").await.assert_problem(423, "lock-busy");
    assert_eq!([&busy["busy"], &busy["permits"]], [&json!("exports"), &json!(3)]);

    let _fair = locks.fair("report:9").acquire().await.unwrap();
    let busy = call(&app, "POST", "/answer/9").await.assert_problem(423, "lock-busy");
    assert_eq!([&busy["busy"], &busy["kind"]], [&json!("report:{id}"), &json!("fair")]);
}

#[tokio::test]
async fn a_rule_does_not_change_what_each_lock_of_an_attribute_is() {
    let logs = Logs::collect();
    let locks = LockClient::in_memory();
    let file = "version = 1\n[[policy]]\nname = \"export-rule\"\nmatch = { attribute = \"export\" }\n\
                kind = \"semaphore\"\npermits = 1\nwait = \"5s\"";
    let policies = Policies::builder(locks.clone()).parse("locks.toml", file).unwrap();
    for _ in 0..2 {
        assert_eq!(policies.run(exported(&locks, "acme", 7)).await.unwrap(), 7);
    }
    let logged = logs.lines().iter().filter(|line| line.contains("have no effect")).count();
    assert_eq!(logged, 1);
}
