//! Keys, and how they are locked.

use crate::common::request;
use crate::policy_fields::policy_service::{PolicyService, both, file, plain};

#[tokio::test(start_paused = true)]
async fn policy_key() {
    let world = PolicyService::new(&file("", "key = \"line:{id:u64}:{ext.tenant}\""));
    let _held = world.locks.hold("line:7:acme").await;
    let status = async |path, tenant: &str| {
        let mut request = request("PUT", path);
        request.headers_mut().insert("x-tenant", tenant.parse().unwrap());
        world.send(request).await.status.as_u16()
    };
    assert_eq!(status("/orders/007", "acme").await, 423);
    assert_eq!(status("/orders/7", "other").await, 200);
    assert_eq!(status("/orders/8", "acme").await, 200);
}

#[tokio::test(start_paused = true)]
async fn policy_keys() {
    let world = PolicyService::new(&file("", "keys = [\"order:{id}\", \"cash\"]"));
    for (key, path, status) in
        [("order:7", "/orders/7", 423), ("cash", "/orders/7", 423), ("order:8", "/orders/7", 200)]
    {
        let held = world.locks.hold(key).await;
        assert_eq!(world.status("PUT", path).await, status, "{key}");
        drop(held);
    }
}

#[tokio::test(start_paused = true)]
async fn policy_mode() {
    let found = async |world: PolicyService| {
        let _reader = world.locks.hold_reading("order:7").await;
        [world.status("GET", "/orders/7").await, world.status("PUT", "/orders/7").await]
    };
    assert_eq!(found(plain()).await, [200, 423]);
    for file in both(r#"mode = "auto""#) {
        assert_eq!(found(PolicyService::new(&file)).await, [200, 423]);
        assert_eq!(found(PolicyService::new(&file.replace("auto", "write"))).await, [423, 423]);
        assert_eq!(found(PolicyService::new(&file.replace("auto", "read"))).await, [200, 200]);
    }
}

#[tokio::test(start_paused = true)]
async fn policy_kind() {
    let beside = async |mut world: PolicyService| {
        let work = {
            let app = world.app.clone();
            tokio::spawn(async move { crate::common::call(&app, "GET", "/work/7").await })
        };
        world.received("began").await;
        let status = world.status("GET", "/orders/7").await;
        work.abort();
        status
    };
    assert_eq!(beside(plain()).await, 200, "readers");
    for kind in ["fair_read_write", "reentrant", "non_reentrant", "fair", "fenced"] {
        for file in both(r#"kind = "read_write""#) {
            let world = PolicyService::new(&file.replace("\"read_write\"", &format!("\"{kind}\"")));
            let status = if kind == "fair_read_write" { 200 } else { 423 };
            assert_eq!(beside(world).await, status, "{kind}");
        }
    }
}

/// Each order that has no tenant is another one, where `on_missing_key` lets it have a key.
#[tokio::test(start_paused = true)]
async fn policy_on_missing_key() {
    for in_rule in both(r#"on_missing_key = "reject""#) {
        let file = in_rule.replace("order:{id}", "order:{query.q}");
        let world = PolicyService::new(&file);
        world.put("/orders/7").await.assert_problem(400, "lock-key-missing");

        let world = PolicyService::new(&file.replace("reject", "skip"));
        let _held = world.locks.hold("order:").await;
        assert_eq!(world.put("/orders/7").await.text, "done");
        let _named = world.locks.hold("order:a").await;
        assert_eq!(world.status("PUT", "/orders/7?q=a").await, 423);
    }
}

#[tokio::test(start_paused = true)]
async fn on_missing_key_constant() {
    for file in both(r#"on_missing_key = { constant = "order:none" }"#) {
        let world = PolicyService::new(&file.replace("order:{id}", "order:{query.q}"));
        let held = world.locks.hold("order:none").await;
        assert_eq!(world.status("PUT", "/orders/7").await, 423);
        assert_eq!(world.status("PUT", "/orders/7?q=a").await, 200);
        drop(held);
        assert_eq!(world.status("PUT", "/orders/7").await, 200);
    }
}
