//! Fields that decide how requests and their handlers are treated.

use crate::common::{Answer, request};
use crate::policy_fields::policy_service::{KEY, PolicyService, both, file, plain};
use axum::body::Body;
use futures_util::{StreamExt, stream};
use http::Request;
use std::convert::Infallible;
use tower::ServiceExt;

#[tokio::test(start_paused = true)]
async fn policy_hold_until() {
    let body = async |world: &PolicyService| {
        let answer = world.app.clone().oneshot(request("PUT", "/orders/7")).await.unwrap();
        answer.into_body()
    };
    let world = plain();
    let sent = body(&world).await;
    world.freed().await;
    drop(sent);
    for file in both(r#"hold_until = "body""#) {
        let world = PolicyService::new(&file);
        let sent = body(&world).await;
        world.locks.pass(std::time::Duration::from_secs(100)).await;
        assert!(!world.is_free().await, "the body is not sent");
        drop(sent);
        world.freed().await;
    }
}

#[tokio::test(start_paused = true)]
async fn policy_on_disconnect() {
    let mut world = plain();
    world.at_work().await.abort();
    world.received("dropped").await;
    world.freed().await;
    for file in both(r#"on_disconnect = "finish""#) {
        let mut world = PolicyService::new(&file);
        let request = world.at_work().await;
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        world.locks.pass(std::time::Duration::from_secs(100)).await;
        assert!(!world.is_free().await);
        world.goes_on.add_permits(1);
        world.received("ended").await;
        world.freed().await;
    }
}

#[tokio::test(start_paused = true)]
async fn policy_on_lost() {
    let lose = async |world: &mut PolicyService| -> Answer {
        let request = world.at_work().await;
        assert_eq!(world.locks.lose("order:7"), 1);
        world.locks.pass(std::time::Duration::from_secs(1)).await;
        world.goes_on.add_permits(1);
        request.await.unwrap()
    };
    lose(&mut plain()).await.assert_problem(503, "lock-lost");
    for file in both(r#"on_lost = "signal""#) {
        let answer = lose(&mut PolicyService::new(&file)).await;
        assert_eq!((answer.status.as_u16(), &*answer.text), (200, "worked"));
    }
}

#[tokio::test(start_paused = true)]
async fn policy_on_store_down() {
    let degraded = async |file: &str| {
        let world = PolicyService::new(file);
        world.locks.store_down();
        let answer = world.put("/orders/7").await;
        let degraded = answer.headers.get("lock-degraded").cloned();
        (answer.status.as_u16(), degraded.map(|to| to.to_str().unwrap().to_owned()))
    };
    for file in both(r#"on_store_down = "closed""#) {
        assert_eq!(degraded(&file).await, (503, None));
    }
    for file in both(r#"on_store_down = "open""#) {
        assert_eq!(degraded(&file).await, (200, Some("open".to_owned())));
        let local = file.replace("open", "local");
        assert_eq!(degraded(&local).await, (200, Some("local".to_owned())));
    }
}

/// No other task runs between the answer and the check, so a background release has not been sent.
#[tokio::test(start_paused = true)]
async fn policy_release() {
    let world = plain();
    world.put("/orders/7").await;
    assert!(!world.is_free().await);
    for file in both(r#"release = "before_response""#) {
        let world = PolicyService::new(&file);
        assert_eq!(world.put("/orders/7").await.text, "done");
        assert!(world.is_free().await);
    }
}

#[tokio::test(start_paused = true)]
async fn policy_enforce() {
    for file in both(r#"enforce = "on""#) {
        for (enforce, statuses) in [
            ("on", [423, 423]),
            ("off", [200, 200]),
            ("shadow", [200, 200]),
            // Always the same keys.
            ("50%", [423, 200]),
            ("60%", [423, 423]),
            ("5%", [200, 200]),
        ] {
            let file = file.replace("\"on\"", &format!("\"{enforce}\""));
            let world = PolicyService::new(&file);
            let _held = [world.locks.hold("order:1").await, world.locks.hold("order:2").await];
            let found =
                [world.status("PUT", "/orders/1").await, world.status("PUT", "/orders/2").await];
            assert_eq!(found, statuses, "{enforce}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn policy_fence_header() {
    let shows = async |file: &str| {
        let service = PolicyService::new(file);
        service.put("/orders/7").await.headers.contains_key("lock-fence")
    };
    assert!(!shows(&file("", KEY)).await);
    for file in both(r#"fence_header = true"#) {
        assert!(shows(&file).await, "{file}");
    }
}

/// Sends one byte of a body, and then nothing.
fn stalled() -> Request<Body> {
    let body = stream::iter([Ok::<_, Infallible>("x")]).chain(stream::pending());
    Request::put("/orders/7").body(Body::from_stream(body)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn policy_body() {
    plain().send(stalled()).await.assert_problem(408, "lock-body-timeout");
    for file in both(r#"body = "stream""#) {
        assert_eq!(PolicyService::new(&file).send(stalled()).await.text, "done");
    }
}

#[tokio::test(start_paused = true)]
async fn policy_body_timeout() {
    assert_eq!(plain().timed(stalled()).await.1, 10);
    for file in both(r#"body_timeout = "3s""#) {
        assert_eq!(PolicyService::new(&file).timed(stalled()).await.1, 3);
    }
}
