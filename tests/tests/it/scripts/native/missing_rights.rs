//! native/missing_rights: every part of its reply, for a user of a real server.

use lock_tests::{RedisServer, Wire, least_rights};

use crate::scripts::acl::required::{ask, user_with};
use crate::scripts::native::Shown;
use crate::scripts::support::call::Call;
use crate::scripts::support::store::Store;

pub(crate) const SHOWN: Shown = &[
    ("{RIGHTS, nonce, refused commands", a_command_without_a_right_is_named),
    ("numbers of the refused names (0: lock)", a_key_without_a_right_has_its_number),
    ("numbers of the refused channels", a_channel_without_a_right_has_its_number),
    ("commands that the server does not know}", an_unknown_command_is_named),
    (", both numbered in the order of the arguments", the_numbers_follow_the_arguments),
];

/// A key of each sort; that of the lock is the first.
const NAMES: [&str; 5] = [
    "lock:\u{1}rights",
    "lock_line:{lock:\u{1}rights}",
    "lock_places:{lock:\u{1}rights}",
    "lock_asked:{lock:\u{1}rights}",
    "lock_token:lock:\u{1}",
];
const CHANNELS: [&str; 2] = ["lock_wake:{lock:\u{1}rights}", "lock_asked:{lock:\u{1}rights}"];

fn missing_rights(names: &[&str], channels: &[&str]) -> Call {
    let arg = |(name, value): (&'static str, &str)| (name, value.to_owned());
    let count = (names.len() - 1).to_string();
    let first = [("lock", names[0]), ("count", &count)].map(arg);
    let others = names[1..].iter().chain(channels).map(|name| arg(("", name)));
    let args = first.into_iter().chain(others).collect();
    Call { script: "native/missing_rights", keys: Vec::new(), args }
}

/// The reply for a user that lacks these of the least rights.
async fn lacking(store: &Store, missing: &[&str], call: &Call) -> String {
    let rights = least_rights(Wire::Native);
    assert!(missing.iter().all(|right| rights.contains(right)), "{missing:?}");
    let cli = user_with(store, rights.iter().filter(|right| !missing.contains(right))).await;
    let reply = ask(store, &cli, call).await.unwrap();
    assert!(store.cli.keys().await.is_empty(), "{missing:?}");
    reply.join(" ")
}

async fn replies(store: &Store, missing: &[&str], expected: &str) {
    let call = missing_rights(&NAMES, &CHANNELS);
    assert_eq!(lacking(store, missing, &call).await, expected, "{missing:?}");
}

#[tokio::test]
async fn a_command_without_a_right_is_named() {
    let store = Store::start().await;
    replies(&store, &[], "RIGHTS [] [] [] []").await;
    for right in least_rights(Wire::Native) {
        let command = right.strip_prefix('+').filter(|command| !command.contains('|'));
        // What a client sends, and no script calls.
        let sent = ["hello", "info", "ping", "subscribe", "unsubscribe", "evalsha"];
        if let Some(command) = command.filter(|command| !sent.contains(command)) {
            replies(&store, &[right], &format!("RIGHTS [{command}] [] [] []")).await;
        }
    }
}

#[tokio::test]
async fn a_key_without_a_right_has_its_number() {
    let store = Store::start().await;
    for (right, numbers) in [
        ("~lock:*", "0"),
        ("~lock_line:{lock:*", "1"),
        ("~lock_places:{lock:*", "2"),
        ("~lock_asked:{lock:*", "3"),
        ("~lock_token:lock:*", "4"),
    ] {
        replies(&store, &[right], &format!("RIGHTS [] [{numbers}] [] []")).await;
    }
}

#[tokio::test]
async fn a_channel_without_a_right_has_its_number() {
    let store = Store::start().await;
    replies(&store, &["&lock_wake:{lock:*"], "RIGHTS [] [] [1] []").await;
    replies(&store, &["&lock_asked:{lock:*"], "RIGHTS [] [] [2] []").await;
    replies(&store, &["&lock_wake:{lock:*", "&lock_asked:{lock:*"], "RIGHTS [] [] [1 2] []").await;
}

#[tokio::test]
async fn an_unknown_command_is_named() {
    let renamed = RedisServer::builder().args(["--rename-command", "ZREVRANGE", ""]);
    let store = Store::on(renamed.start().await).await;
    let call = missing_rights(&NAMES, &CHANNELS);
    assert_eq!(store.ask(&call).await.join(" "), "RIGHTS [] [] [] [zrevrange]");
    assert!(store.cli.keys().await.is_empty());
}

#[tokio::test]
async fn the_numbers_follow_the_arguments() {
    let store = Store::start().await;
    let [lock, line, places, requested, counter] = NAMES;
    let names = [lock, counter, requested, places, line];
    let call = missing_rights(&names, &[CHANNELS[1], CHANNELS[0]]);
    let missing = ["~lock_line:{lock:*", "~lock_asked:{lock:*", "&lock_wake:{lock:*"];
    assert_eq!(lacking(&store, &missing, &call).await, "RIGHTS [] [2 4] [2] []");
}
