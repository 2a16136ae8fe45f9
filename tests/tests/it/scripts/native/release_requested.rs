//! native/release_requested, which is common/release_requested: every reply.

use crate::scripts::native::Shown;
use crate::scripts::native::call::{acquire, release_requested, request_release};
use crate::scripts::native::standing::{stopped, waiting};
use crate::scripts::support::keys::ASKED;

pub(crate) const SHOWN: Shown = &[
    ("{ASKED, nonce, 1", an_owner_that_was_requested_finds_it),
    ("or 0}", any_other_owner_was_not),
];

#[tokio::test]
async fn an_owner_that_was_requested_finds_it() {
    let store = waiting(&[acquire("a:1")], &[]).await;
    store.replies(&request_release(), "ASKED 1").await;
    let before = store.keys().await;
    store.replies(&release_requested("a:1"), "ASKED 1").await;
    store.unchanged_since(&before).await;
}

#[tokio::test]
async fn any_other_owner_was_not() {
    let store = stopped().await;
    store.replies(&release_requested("a:1"), "ASKED 0").await;
    for other in [&["SADD", ASKED, "b:2"][..], &["SET", ASKED, "a:1"], &["RPUSH", ASKED, "a:1"]] {
        store.set(&["DEL", ASKED]).await;
        store.set(other).await;
        let before = store.keys().await;
        store.replies(&release_requested("a:1"), "ASKED 0").await;
        store.unchanged_since(&before).await;
    }
}
