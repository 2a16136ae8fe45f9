//! Two places that acquire the same locks in opposite orders are reported before they deadlock.

use lock_core::{
    __private::{AcquireOptions, LockSpec, PolicyOptions, acquire},
    Acquire, Kind, LockClient, LockKey, LockOrderInversion, Mode,
};

/// Takes the second inside the first.
async fn nested(first: Acquire, second: Acquire) {
    let _outer = first.acquire().await.unwrap();
    let _inner = second.acquire().await.unwrap();
}

fn only(client: &LockClient) -> LockOrderInversion {
    let mut inversions = client.lock_order_inversions();
    assert_eq!(inversions.len(), 1, "{inversions:?}");
    inversions.remove(0)
}

fn key(key: &str) -> LockKey {
    LockKey::try_from(key).unwrap()
}

#[tokio::test]
async fn opposite_orders_are_reported_once_with_both_places() {
    let client = LockClient::in_memory();
    for _ in 0..3 {
        let scope = client.scope();
        let (x, y) = (scope.write("secret:x"), scope.write("secret:y"));
        let first = line!() - 1;
        nested(x, y).await;
        let reported = client.lock_order_inversions().len();
        let scope = client.scope();
        let (y, x) = (scope.write("secret:y"), scope.read("secret:x"));
        let second = line!() - 1;
        nested(y, x).await;
        if reported == 0 {
            let inversion = only(&client);
            assert_eq!(inversion.keys(), (&key("secret:y"), &key("secret:x")));
            let sites = inversion.call_sites();
            assert_eq!(sites.len(), 2);
            assert!(sites[0].contains(&format!("lock_order.rs:{second}:")), "{sites:?}");
            assert!(sites[1].contains(&format!("lock_order.rs:{first}:")), "{sites:?}");
            let text = inversion.to_string();
            assert!(sites.iter().all(|site| text.contains(site)), "{text}");
            assert!(!text.contains("secret"), "no keys: {text}");
        }
        only(&client);
    }
    // The same two places with other keys are not reported again.
    only(&client);
}

/// The two places are known, so that other keys are no news.
#[tokio::test]
async fn two_places_are_reported_once_whatever_their_keys() {
    let client = LockClient::in_memory();
    for number in 0..3 {
        let scope = client.scope();
        let (x, y) = (format!("x:{number}"), format!("y:{number}"));
        for nests_back in [false, true] {
            let (first, second) = if nests_back { (&y, &x) } else { (&x, &y) };
            nested(scope.write(first), scope.write(second)).await;
        }
    }
    only(&client);
}

/// The search for a way back ends where two keys were already taken in both orders.
#[tokio::test]
async fn a_known_circle_does_not_hold_up_the_search() {
    let client = LockClient::in_memory();
    for (first, second) in [("b", "c"), ("c", "b"), ("a", "b")] {
        let scope = client.scope();
        nested(scope.write(first), scope.write(second)).await;
    }
    let scope = client.scope();
    nested(scope.write("z"), scope.write("a")).await;
    only(&client);
}

#[tokio::test]
async fn inversions_are_reported_at_the_request_even_without_a_wait() {
    let client = LockClient::in_memory();
    let (one, two) = (client.scope(), client.scope());
    let _x = one.write("x").acquire().await.unwrap();
    let _y = two.write("y").acquire().await.unwrap();
    assert!(one.write("y").try_acquire().await.is_err());
    assert_eq!(client.lock_order_inversions(), []);
    assert!(two.write("x").try_acquire().await.is_err());
    only(&client);
}

#[tokio::test]
async fn one_order_is_none() {
    let client = LockClient::in_memory();
    for _ in 0..2 {
        let scope = client.scope();
        nested(scope.write("x"), scope.write("y")).await;
        nested(scope.write("y"), scope.write("z")).await;
        // What was released before is not held, nor what another scope holds.
        nested(scope.write("z"), scope.write("zz")).await;
        drop(scope.write("x").acquire().await.unwrap());
        let _z = client.scope().write("z").acquire().await.unwrap();
        drop(scope.write("x").acquire().await.unwrap());
    }
    // Re-entry requests nothing new.
    let scope = client.scope();
    let _outer = scope.write("x").acquire().await.unwrap();
    nested(scope.write("y"), scope.read("x")).await;
    // Without a scope it is not known which acquisitions belong together.
    nested(client.write("b"), client.write("a")).await;
    nested(client.write("a"), client.write("b")).await;
    assert_eq!(client.lock_order_inversions(), []);
}

#[tokio::test]
async fn circles_of_three_and_members_of_multi_locks() {
    let client = LockClient::in_memory();
    let scope = client.scope();
    nested(scope.write("x"), scope.write("y")).await;
    nested(scope.write("y"), scope.write("z")).await;
    assert_eq!(client.lock_order_inversions(), []);
    nested(scope.write("z"), scope.write("x")).await;
    assert_eq!(only(&client).call_sites().len(), 3);

    let client = LockClient::in_memory();
    let scope = client.scope();
    let both = || client.multi_lock([client.write("b"), client.write("a"), client.write("c")]);
    drop(both().acquire().await.unwrap());
    drop(both().acquire().await.unwrap());
    nested(scope.write("a"), scope.write("c")).await;
    assert_eq!(client.lock_order_inversions(), []);
    nested(scope.write("c"), scope.write("a")).await;
    only(&client);
}

#[tokio::test]
async fn policies_are_named() {
    let client = LockClient::in_memory();
    let scope = client.scope();
    let of_policy = |name: &'static str, locked: &'static str| {
        let options = AcquireOptions::of_policy(&name.into());
        let options = PolicyOptions { wait: None, options };
        let lock = LockSpec::new(Kind::ReadWrite, Mode::Write);
        acquire(&client, [(key(locked), lock)], &options, Some(scope.clone()))
    };
    for [(outer, first), (inner, second)] in
        [[("ship", "x"), ("stock", "y")], [("take_back", "y"), ("refund", "x")]]
    {
        let _outer = of_policy(outer, first).acquire().await.unwrap();
        let _inner = of_policy(inner, second).acquire().await.unwrap();
    }
    let inversion = only(&client);
    assert_eq!(inversion.call_sites(), ["refund", "stock"]);
    let text = inversion.to_string();
    assert!(text.contains("refund takes its lock while it holds that of take_back"), "{text}");
    assert!(text.contains("stock takes its lock while it holds that of ship"), "{text}");
}

#[tokio::test]
async fn the_oldest_are_forgotten() {
    let client = LockClient::in_memory();
    let scope = client.scope();
    nested(scope.write("x"), scope.write("y")).await;
    let _outer = scope.write("outer").acquire().await.unwrap();
    for number in 0..10_000 {
        drop(scope.write(format!("k:{number}")).acquire().await.unwrap());
    }
    drop(_outer);
    nested(scope.write("y"), scope.write("x")).await;
    assert_eq!(client.lock_order_inversions(), []);
}
