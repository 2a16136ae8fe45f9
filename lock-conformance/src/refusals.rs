//! Bad input is refused with an error that explains how to correct it, before anything is held.

use std::time::Duration;

use lock_core::{AcquireError, KeyError, LockKey};

use super::store_under_test::StoreUnderTest;

pub(super) async fn bad_keys(world: StoreUnderTest) {
    let client = world.client().await;
    let refuse = async |key: &str| match client.write(key).acquire().await {
        Err(AcquireError::Key(error)) => error,
        other => panic!("{key:?}: {other:?}"),
    };
    assert_eq!(refuse("").await, KeyError::Empty);
    assert_eq!(refuse(&"x".repeat(513)).await, KeyError::TooLong { length: 513 });
    assert_eq!(refuse("a\u{7}").await, KeyError::ControlCharacter { at: 1 });
    for braces in ["a{b", "a}b", "{}", "a}b{", "{a}{b}", "{{a}}"] {
        assert_eq!(refuse(braces).await, KeyError::Braces, "{braces}");
    }
    assert_eq!(client.health().await.holds, 0);
}

pub(super) async fn bad_leases(world: StoreUnderTest) {
    let client = world.client().await;
    let year = Duration::from_secs(366 * 24 * 60 * 60);
    for lease in [Duration::ZERO, Duration::from_millis(99), year, Duration::MAX] {
        for requested in [client.write("k").lease(lease), client.write("k").max_hold(lease)] {
            let refused = requested.acquire().await.unwrap_err();
            assert!(matches!(refused, AcquireError::InvalidOptions(_)), "{lease:?}: {refused}");
        }
    }
    // A wait without end is not an error.
    drop(client.write("k").wait(Duration::MAX).acquire().await.unwrap());
}

pub(super) async fn keys_of_all_shapes(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let long = "x".repeat(512);
    for key in ["a", "order:42", "a b", "{tag}:x", "x:{tag}", "größe/ü", "🔒", "a:b:c%41", &long]
    {
        let guard = match here.write(LockKey::try_from(key).unwrap()).acquire().await {
            Err(AcquireError::Unsupported(_)) if !world.takes_every_key() => continue,
            granted => granted.unwrap(),
        };
        assert!(there.read(key).try_acquire().await.is_err(), "{key}");
        guard.release().await.unwrap();
        there.read(key).try_acquire().await.unwrap().release().await.unwrap();
    }
    let _tagged = here.write("{a}").acquire().await.unwrap();
    drop(there.write("a").try_acquire().await.unwrap());
}
