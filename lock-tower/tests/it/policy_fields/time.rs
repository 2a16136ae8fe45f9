//! How long requests wait for their locks and have them: on a paused clock.

use std::time::Duration;

use axum::{Router, body::Body, routing::put};
use http::{HeaderValue, Request};
use lock_tower::{RequestLockLayer, policies::Policies};
use tokio::time::Instant;

use crate::common::{self, NEVER, request};
use crate::policy_fields::policy_service::{KEY, PolicyService, both, file, plain};

fn within(milliseconds: &str) -> Request<Body> {
    let mut request = request("PUT", "/orders/7");
    request.headers_mut().insert("x-ms", milliseconds.parse().unwrap());
    request
}

/// How long a request waits for an order that others hold on and on.
async fn waits(world: &PolicyService, request: Request<Body>) -> u64 {
    let _held = world.locks.hold("order:7").await;
    let (answer, waited) = world.timed(request).await;
    answer.assert_problem(423, "lock-busy");
    waited
}

/// After how many seconds the handler's lock is lost; `None`: not within 100.
async fn lost_after(world: &mut PolicyService, store_down: bool) -> Option<u64> {
    let request = world.at_work().await;
    let began = Instant::now();
    if store_down {
        world.locks.store_down();
    }
    let answer = tokio::time::timeout(Duration::from_secs(100), request).await.ok()?.unwrap();
    answer.assert_problem(503, "lock-lost");
    Some(began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn policy_wait() {
    assert_eq!(waits(&plain(), request("PUT", "/orders/7")).await, 1);
    for file in both(r#"wait = "5s""#) {
        assert_eq!(waits(&PolicyService::new(&file), request("PUT", "/orders/7")).await, 5);
    }
    // The rule's own value takes precedence.
    let world = PolicyService::new(&file("wait = \"5s\"", &format!("{KEY}\nwait = \"3s\"")));
    assert_eq!(waits(&world, request("PUT", "/orders/7")).await, 3);
}

#[tokio::test(start_paused = true)]
async fn policy_on_busy() {
    for file in both(r#"on_busy = "fail""#) {
        assert_eq!(waits(&PolicyService::new(&file), request("PUT", "/orders/7")).await, 0);
    }
    for (defaults, rule, seconds) in [
        ("", "on_busy = \"wait\"", 1),
        ("wait = \"5s\"", "on_busy = \"fail\"", 0),
        ("wait = \"5s\"", "on_busy = \"wait\"", 5),
        ("on_busy = \"fail\"", "wait = \"3s\"", 3),
        ("on_busy = \"fail\"", "on_busy = \"wait\"", 1),
    ] {
        let world = PolicyService::new(&file(defaults, &format!("{KEY}\n{rule}")));
        assert_eq!(waits(&world, request("PUT", "/orders/7")).await, seconds, "{defaults} {rule}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_skipped_request_waits_only_if_its_own_table_says_so() {
    for (defaults, rule, seconds) in [
        ("", "on_busy = \"skip\"", 0),
        ("", "on_busy = \"skip\"\nwait = \"2s\"", 2),
        ("wait = \"5s\"", "on_busy = \"skip\"", 0),
        ("on_busy = \"skip\"", "", 0),
        ("on_busy = \"skip\"", "wait = \"3s\"", 3),
    ] {
        let world = PolicyService::new(&file(defaults, &format!("{KEY}\n{rule}")));
        let _held = world.locks.hold("order:7").await;
        let (answer, waited) = world.timed(request("PUT", "/orders/7")).await;
        answer.assert_problem(409, "lock-skipped");
        assert_eq!(waited, seconds, "{defaults} {rule}");
    }
}

#[tokio::test(start_paused = true)]
async fn policy_refuse_early() {
    for (file, seconds) in both(r#"refuse_early = true"#).map(|file| (file, 0)).into_iter().chain([
        (file("", KEY), 1),
        (file("refuse_early = true", &format!("{KEY}\nrefuse_early = false")), 1),
    ]) {
        let mut world = PolicyService::new(&file);
        for _ in 0..32 {
            let request = world.at_work().await;
            tokio::time::sleep(Duration::from_secs(10)).await;
            world.goes_on.add_permits(1);
            request.await.unwrap();
            world.received("ended").await;
        }
        let _held = world.at_work().await;
        let waiting = [(); 2].map(|()| {
            let app = world.app.clone();
            tokio::spawn(async move { common::send(&app, request("PUT", "/orders/7")).await })
        });
        tokio::time::sleep(Duration::from_millis(1)).await;
        let (answer, waited) = world.timed(request("PUT", "/orders/7")).await;
        answer.assert_problem(423, "lock-busy");
        assert_eq!(waited, seconds, "{file}");
        drop(waiting);
    }
}

/// The status of the second of two requests, and after how many seconds it is answered, while the first
/// is at work, whose handler does not stop.
async fn replaces(rule: &str) -> (u16, u64) {
    let rule = format!("{KEY}\non_lost = \"signal\"\n{rule}");
    let mut world = PolicyService::new(&file("", &rule));
    let _stubborn = world.at_work().await;
    let (answer, waited) = world.timed(request("PUT", "/orders/7")).await;
    (answer.status.as_u16(), waited)
}

#[tokio::test(start_paused = true)]
async fn policy_replace_by() {
    let replace = "on_busy = \"replace\"\nreplace_by";
    assert_eq!(replaces(&format!("{replace} = \"anyone\"")).await, (200, 2));
    assert_eq!(replaces(&format!("{replace} = \"id\"")).await, (200, 2));
    assert_eq!(replaces("on_busy = \"wait\"").await, (423, 1));
}

#[tokio::test(start_paused = true)]
async fn policy_replace_after() {
    let replace = "on_busy = \"replace\"\nreplace_by = \"anyone\"\nreplace_after";
    assert_eq!(replaces(&format!("{replace} = \"7s\"")).await, (200, 7));
    assert_eq!(replaces(&format!("{replace} = \"0s\"")).await, (200, 0));
}

#[tokio::test(start_paused = true)]
async fn policy_reserve() {
    let wait = "wait = \"1m\"";
    let world = PolicyService::new(&file(wait, KEY));
    assert_eq!(waits(&world, within("10000")).await, 10);
    for file in both(r#"reserve = "4s""#) {
        let file = file.replace("[[policy]]", "[[policy]]\nwait = \"1m\"");
        assert_eq!(waits(&PolicyService::new(&file), within("10000")).await, 6);
    }
}

#[tokio::test(start_paused = true)]
async fn policy_lease() {
    let after = lost_after(&mut plain(), true).await.unwrap();
    assert!((15..=30).contains(&after), "{after}");
    for file in both(r#"lease = "6s""#) {
        let after = lost_after(&mut PolicyService::new(&file), true).await.unwrap();
        assert!((3..=6).contains(&after), "{after}");
    }
}

#[tokio::test(start_paused = true)]
async fn policy_renew() {
    assert_eq!(lost_after(&mut plain(), false).await, None);
    for file in both(r#"renew = false"#) {
        let after = lost_after(&mut PolicyService::new(&file), false).await.unwrap();
        assert!((25..=30).contains(&after), "{after}");
    }
}

#[tokio::test(start_paused = true)]
async fn policy_max_hold() {
    for file in both(r#"max_hold = "40s""#) {
        let after = lost_after(&mut PolicyService::new(&file), false).await.unwrap();
        assert!((38..=40).contains(&after), "{after}");
    }
}

#[tokio::test(start_paused = true)]
async fn policy_max_waiters() {
    for file in both(r#"max_waiters = 0"#) {
        let world = PolicyService::new(&file);
        let _held = world.locks.client().write("order:7").acquire().await.unwrap();
        let (answer, waited) = world.timed(request("PUT", "/orders/7")).await;
        answer.assert_problem(503, "lock-overloaded");
        assert_eq!(waited, 0);
    }
}

/// Whether the next waiter gets the lock without contacting the store.
async fn is_handed_over(world: &mut PolicyService) -> bool {
    let client = world.locks.client().clone();
    let held = client.write("order:7").acquire().await.unwrap();
    let send = |app: Router| async move { common::send(&app, request("PUT", "/work/7")).await };
    let waiting = [1, 2, 3].map(|_| tokio::spawn(send(world.app.clone())));
    while client.health().await.waiting < waiting.len() {
        tokio::task::yield_now().await;
    }
    held.release().await.unwrap();
    let mut owners = Vec::new();
    for _ in &waiting {
        world.received("began").await;
        owners.extend(client.inspect("order:7").await.unwrap().holders);
        world.goes_on.add_permits(1);
        world.received("ended").await;
    }
    for request in waiting {
        assert_eq!(request.await.unwrap().status, 200);
    }
    owners[0].owner == owners[1].owner
}

#[tokio::test(start_paused = true)]
async fn policy_max_local_handoffs() {
    let wait = "wait = \"1m\"";
    assert!(is_handed_over(&mut PolicyService::new(&file(wait, KEY))).await);
    for file in both(r#"max_local_handoffs = 0"#) {
        let file = file.replace("[[policy]]", &format!("[[policy]]\n{wait}"));
        assert!(!is_handed_over(&mut PolicyService::new(&file)).await);
    }
}

/// How many holds the store has while three requests read.
async fn holds_of_three_readers(file: &str) -> usize {
    let mut world = PolicyService::new(file);
    let send = |app: Router| async move { common::send(&app, request("GET", "/work/7")).await };
    let mut reading = Vec::new();
    for _ in 0..3 {
        reading.push(tokio::spawn(send(world.app.clone())));
        world.received("began").await;
    }
    let holders = world.locks.client().inspect("order:7").await.unwrap().holders.len();
    world.goes_on.add_permits(reading.len());
    for request in reading {
        assert_eq!(request.await.unwrap().status, 200);
    }
    holders
}

#[tokio::test(start_paused = true)]
async fn policy_max_shared_readers() {
    assert_eq!(holds_of_three_readers(&file("", KEY)).await, 1);
    for file in both(r#"max_shared_readers = 2"#) {
        assert_eq!(holds_of_three_readers(&file).await, 2);
    }
}

const LIMITED: &str = "version = 1\n[request]\ndeadline = \"8s\"\ndeadline_header = \"x-ms\"\n\
    [[policy]]\nname = \"order\"\nmatch = {}\nkey = \"order:{id}\"\nwait = \"8s\"\n";

#[tokio::test(start_paused = true)]
async fn request_deadline() {
    let world =
        PolicyService::new(&LIMITED.replace("wait = \"8s\"", "wait = \"5s\"\nreserve = \"3s\""));
    assert_eq!(waits(&world, within("7000")).await, 4);
    // A layer inside has no more time than the file gives the request.
    let mut world = PolicyService::new(LIMITED);
    let inner = RequestLockLayer::new(world.locks.client(), "inner:{id}").unwrap().wait(NEVER);
    let policies = Policies::builder(world.locks.client()).parse("locks.toml", LIMITED).unwrap();
    let app = Router::new().route("/orders/{id}", put(|| async { "done" }));
    world.app = app.route_layer(inner).route_layer(policies.layer());
    let _inner = world.locks.hold("inner:7").await;
    let (answer, waited) = world.timed(request("PUT", "/orders/7")).await;
    answer.assert_problem(423, "lock-busy");
    assert_eq!(waited, 8);
}

#[tokio::test(start_paused = true)]
async fn request_deadline_header() {
    let world = PolicyService::new(LIMITED);
    assert_eq!(waits(&world, within("2000")).await, 2);
    // Never longer.
    for milliseconds in ["60000", "18446744073709551615", " 9000 "] {
        assert_eq!(waits(&world, within(milliseconds)).await, 8, "{milliseconds}");
    }
    let huge = "9".repeat(4_096);
    for wrong in
        ["", "soon", "-1", "+1", "1e3", "1.5", "NaN", "inf", "1 000", "18446744073709551616", &huge]
    {
        world.send(within(wrong)).await.assert_problem(400, "lock-deadline-invalid");
    }
    let mut bytes = within("0");
    bytes.headers_mut().insert("x-ms", HeaderValue::from_bytes("\u{661}".as_bytes()).unwrap());
    world.send(bytes).await.assert_problem(400, "lock-deadline-invalid");
    let mut twice = within("2000");
    twice.headers_mut().append("x-ms", HeaderValue::from_static("2000"));
    let reported = world.send(twice).await.assert_problem(400, "lock-deadline-invalid");
    assert!(
        reported["detail"].as_str().unwrap().contains("`x-ms` is given more than once"),
        "{reported}"
    );
    world.send(within("0")).await.assert_problem(503, "lock-overloaded");
    let alone = PolicyService::new(&LIMITED.replace("deadline = \"8s\"\n", ""));
    assert_eq!(waits(&alone, within("3000")).await, 3);
    assert_eq!(waits(&alone, within("18446744073709551615")).await, 8);
}

#[tokio::test(start_paused = true)]
async fn policy_hold_at_least() {
    for file in both(r#"hold_at_least = "20s""#) {
        let world = PolicyService::new(&file);
        assert_eq!(world.status("PUT", "/orders/7").await, 200);
        world.locks.pass(Duration::from_secs(19)).await;
        assert!(!world.is_free().await);
        world.locks.pass(Duration::from_secs(2)).await;
        world.freed().await;
    }
}
