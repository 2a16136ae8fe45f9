//! What a user may not do is found before the first lock.

use std::collections::BTreeSet;
use std::fmt::Display;

use lock_core::test_util::{NATIVE_SCRIPTS, SCRIPTS, SHARDED_SCRIPTS};

use crate::scripts::acl::required::{COMMANDS, KEYS, ask, user};
use crate::scripts::support::call::Call;
use crate::scripts::support::store::Store;

const NAMES: [&str; 15] = [
    "lock:\u{1}rights",
    "{lock:\u{1}rights}:timeout",
    "{lock:\u{1}rights}::rwlock_timeout",
    "redisson_rwlock:{lock:\u{1}rights}",
    "redisson_lock__channel:{lock:\u{1}rights}",
    "redisson_sc:{lock:\u{1}rights}",
    "redisson_lock_queue:{lock:\u{1}rights}",
    "redisson_lock_timeout:{lock:\u{1}rights}",
    "redisson_lock_token:{lock:\u{1}rights}",
    "lock_waiters:{lock:\u{1}rights}",
    "lock_alive:{lock:\u{1}rights}",
    "lock_turn:{lock:\u{1}rights}",
    "lock_asked:{lock:\u{1}rights}",
    "lock_places:{lock:\u{1}rights}",
    "lock_token:lock:\u{1}",
];
const CHANNELS: [&str; 5] = [
    "redisson_rwlock:{lock:\u{1}rights}",
    "redisson_lock__channel:{lock:\u{1}rights}",
    "redisson_sc:{lock:\u{1}rights}",
    "lock_turn:{lock:\u{1}rights}",
    "lock_asked:{lock:\u{1}rights}",
];

fn missing_rights() -> Call {
    let count = NAMES.len() - 1;
    let mut args: Vec<(&str, &dyn Display)> = vec![("lock", &NAMES[0]), ("count", &count)];
    args.extend(NAMES[1..].iter().chain(&CHANNELS).map(|name| ("", name as &dyn Display)));
    let args = args.into_iter().map(|(name, value)| (name, value.to_string())).collect();
    Call { script: "common/missing_rights", keys: Vec::new(), args }
}

/// The commands that a script calls.
fn called(text: &str) -> BTreeSet<String> {
    let calls = text.split("call('").skip(1);
    calls.filter_map(|rest| Some(rest.split_once('\'')?.0.to_owned())).collect()
}

#[test]
fn it_checks_every_command_that_a_script_calls() {
    for scripts in [SCRIPTS, SHARDED_SCRIPTS, NATIVE_SCRIPTS] {
        let itself =
            scripts.iter().find(|script| script.name.ends_with("/missing_rights")).unwrap();
        let requested = itself.text.split("{'").skip(1);
        let requested = requested.filter_map(|rest| Some(rest.split_once('\'')?.0.to_owned()));
        let requested: BTreeSet<_> = requested.chain(called(itself.text)).collect();
        for script in scripts {
            let forgotten: Vec<_> = called(script.text).difference(&requested).cloned().collect();
            assert!(forgotten.is_empty(), "{}: {forgotten:?}", script.name);
        }
    }
}

#[tokio::test]
async fn with_the_least_rights_none_is_missing_and_nothing_is_left() {
    let mut store = Store::start().await;
    let cli = user(&store, &[]).await;
    assert_eq!(
        ask(&store, &cli, &missing_rights()).await.unwrap(),
        ["RIGHTS", "[]", "[]", "[]", "[]"]
    );
    assert!(store.cli.keys().await.is_empty());
    let reported = store.reported_where().await;
    assert!(
        reported.iter().all(|(channel, message)| channel.contains('\u{1}') && message.is_empty())
    );
    assert_eq!(reported.len(), CHANNELS.len());
}

#[tokio::test]
async fn each_that_is_missing_is_named_and_nothing_is_left() {
    let store = Store::start().await;
    for right in COMMANDS.iter().filter(|right| !["+evalsha", "+script|load"].contains(right)) {
        let cli = user(&store, &[right]).await;
        let reply = ask(&store, &cli, &missing_rights()).await.unwrap();
        assert_eq!(reply[1], format!("[{}]", &right[1..]), "{right}: {reply:?}");
        assert_eq!(reply[2..], ["[]", "[]", "[]"], "{right}");
        assert!(store.cli.keys().await.is_empty(), "{right}");
    }
    for right in KEYS {
        let cli = user(&store, &[right]).await;
        let reply = ask(&store, &cli, &missing_rights()).await.unwrap();
        let names = if right.starts_with('~') { &NAMES[..] } else { &CHANNELS };
        let beginning = right[1..].trim_end_matches('*');
        let of_it = names.iter().enumerate().filter(|(_, name)| name.starts_with(beginning));
        let first = usize::from(right.starts_with('&'));
        let numbers: Vec<_> = of_it.map(|(at, _)| (at + first).to_string()).collect();
        let place = 2 + first;
        assert_eq!(reply[place], format!("[{}]", numbers.join(" ")), "{right}: {reply:?}");
        assert_eq!((reply[1].as_str(), reply[5 - place].as_str()), ("[]", "[]"), "{right}");
        assert!(store.cli.keys().await.is_empty(), "{right}");
    }
}

/// At the memory limit nothing can be made, and no right is missing for it.
#[tokio::test]
async fn a_full_memory_is_no_missing_right() {
    let store = Store::start().await;
    let cli = user(&store, &[]).await;
    store.fill().await;
    assert_eq!(
        ask(&store, &cli, &missing_rights()).await.unwrap(),
        ["RIGHTS", "[]", "[]", "[]", "[]"]
    );
    assert!(store.cli.keys().await.is_empty());
}
