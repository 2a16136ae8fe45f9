//! Arguments that no script may act on.

use std::collections::BTreeSet;

use lock_core::test_util::{NATIVE_SCRIPTS, SCRIPTS};

use crate::scripts::native::call as native_call;
use crate::scripts::native::standing::waiting as native_waiting;
use crate::scripts::support::call::{
    Call, LEASE, acquire_read, acquire_write, downgrade, release_read, release_write, renew_read,
    renew_write, upgrade,
};
use crate::scripts::support::keys::lock;
use crate::scripts::support::store::Store;
use crate::scripts::{
    any::call as any_call, fair::call as fair_call, fair_read_write::call as fair_rw_call,
    plain::call as plain_call, semaphore::call as semaphore_call,
};

/// Redis would refuse some of them after the first write, or take them for no lease at all.
pub(crate) const NO_NUMBERS: &[&str] = &[
    "-1",
    "1.5",
    "abc",
    "",
    " ",
    "9223372036854775807",
    "nan",
    "-nan",
    "inf",
    "-inf",
    "1e400",
    "1e-5",
    "31536000001",
    "0x",
    "1,5",
    "１",
];

/// What is no fencing token: it may be greater than any lease.
const NO_TOKENS: &[&str] = &["-1", "1.5", "abc", "", "nan", "inf", "9007199254740992", "1e400"];

/// A call with its numbers, and whether 0 is one of them.
type Numbers = (Call, &'static [(&'static str, bool)]);

/// The scripts that take no number, or none that is checked.
const WITHOUT_NUMBERS: [&str; 19] = [
    "common/acquire_all",
    "common/inspect",
    "common/missing_rights",
    "common/release_requested",
    "common/transfer",
    "fair/leave",
    "fair_read_write/leave",
    "fair_read_write/downgrade",
    "fair_read_write/upgrade",
    "fair_read_write/renew",
    "semaphore/release",
    "native/acquire_all",
    "native/count_permits",
    "native/inspect",
    "native/leave",
    "native/missing_rights",
    "native/release_free",
    "native/release_requested",
    "native/transfer",
];

fn native_calls() -> Vec<Numbers> {
    let acquired: &[_] = &[
        ("lease", false),
        ("holds", false),
        ("place", true),
        ("more", true),
        ("floor", true),
        ("total", true),
    ];
    let converted: &[_] = &[("lease", false), ("reads", true), ("writes", true), ("floor", true)];
    vec![
        (native_call::acquire("a:1"), acquired),
        (native_call::read("a:1"), acquired),
        (native_call::permits("a:1", 1, 2), acquired),
        (native_call::convert("a:1", "write", 0, 1), converted),
        (native_call::convert("a:1", "read", 1, 0), converted),
        (native_call::release("ew", "a:1"), &[("holds", true)]),
        (native_call::release("rr", "a:1").with("queued", 1), &[("holds", true)]),
        (native_call::force_release(), &[("floor", true)]),
        (native_call::request_release(), &[("ttl", false)]),
    ]
}

/// Each call of Redisson's wire.
fn calls() -> Vec<Numbers> {
    vec![
        (
            acquire_read("a:1", 1),
            &[
                ("lease", false),
                ("holds", false),
                ("place_ms", true),
                ("waited_ms", true),
                ("token_ttl", true),
            ],
        ),
        (
            acquire_write("a:1", 1),
            &[
                ("lease", false),
                ("holds", false),
                ("place_ms", true),
                ("waited_ms", true),
                ("token_ttl", true),
            ],
        ),
        (release_read("a:1", 0).with("queued", 1), &[("holds", true)]),
        (release_write("a:1", 0).with("queued", 1), &[("holds", true)]),
        (
            upgrade("a:1", 0, 1),
            &[("lease", false), ("read_holds", true), ("write_holds", false), ("token_ttl", true)],
        ),
        (
            plain_call::acquire("a:1", 1),
            &[
                ("lease", false),
                ("holds", false),
                ("place_ms", true),
                ("waited_ms", true),
                ("token_ttl", true),
            ],
        ),
        (
            fair_rw_call::write("a:1"),
            &[
                ("mode", false),
                ("lease", false),
                ("holds", false),
                ("place_ms", true),
                ("token_ttl", true),
            ],
        ),
        (fair_rw_call::leave("read", "a:1"), &[("mode", false), ("holds", true)]),
        (any_call::force_release(), &[("token_ttl", true)]),
        (any_call::request_release(), &[("ttl", false)]),
        (
            semaphore_call::wait(1, 2),
            &[("lease", false), ("total", true), ("place_ms", true), ("waited_ms", true)],
        ),
        (semaphore_call::resize(2, 0), &[("total", true)]),
        (
            fair_call::acquire("a:1", 1),
            &[
                ("lease", false),
                ("holds", false),
                ("place_ms", true),
                ("wait_ms", false),
                ("token_ttl", true),
            ],
        ),
        (fair_call::leave("a:1"), &[("holds", true)]),
        (plain_call::release("a:1", 0).with("queued", 1), &[("holds", true)]),
        (downgrade("a:1", 1, 0), &[("lease", false), ("read_holds", false), ("write_holds", true)]),
    ]
}

/// What a call names its owner, if it has one.
fn owner(call: &Call) -> Option<&'static str> {
    let names = call.args.iter().map(|(name, _)| *name);
    names.into_iter().find(|name| ["owner", "permit"].contains(name))
}

fn renewals() -> [Call; 6] {
    [
        renew_read("a:1"),
        renew_write("a:1"),
        plain_call::renew("a:1"),
        semaphore_call::renew(1),
        native_call::renew("e", "write", "a:1"),
        native_call::renew("r", "read", "a:1"),
    ]
}

#[test]
fn each_script_with_numbers_is_called() {
    let calls = calls().into_iter().chain(native_calls()).map(|(call, _)| call);
    let called = calls.chain(renewals()).map(|call| call.script);
    let known: BTreeSet<_> = called.chain(WITHOUT_NUMBERS).collect();
    let all = SCRIPTS.iter().chain(NATIVE_SCRIPTS).map(|script| script.name);
    assert_eq!(known, all.collect());
}

async fn refuses_all(store: &mut Store) {
    let before = store.keys().await;
    for (call, numbers) in calls().into_iter().chain(native_calls()) {
        // A release of several locks has an answer for each.
        let refusal: &[_] =
            if call.script == "native/release" { &["DONE", "INVALID"] } else { &["INVALID"] };
        for (name, zero) in numbers {
            let values = if *name == "floor" { NO_TOKENS } else { NO_NUMBERS };
            let zero = (!zero).then_some(&"0");
            for value in values.iter().chain(zero) {
                let call = call.with(name, value);
                assert_eq!(store.ask(&call).await, refusal, "{name} {value:?} in {call:?}");
            }
        }
        if let Some(owner) = owner(&call) {
            assert_eq!(store.ask(&call.with(owner, "")).await, ["INVALID"], "{call:?}");
        }
    }
    for call in renewals() {
        for value in NO_NUMBERS.iter().chain(&["0"]) {
            let call = call.with("lease", value);
            assert_eq!(store.ask(&call).await, ["RENEWED", "INVALID"], "{call:?}");
        }
        let no_owner = call.with(owner(&call).unwrap(), "");
        // A lock of the other wire is of another type.
        let answer = store.ask(&no_owner).await.remove(1);
        assert!(["0", "FAILED"].contains(&answer.as_str()), "{no_owner:?}: {answer}");
    }
    store.unchanged_since(&before).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn a_free_lock_stays_free() {
    let mut store = Store::start().await;
    refuses_all(&mut store).await;
    assert!(store.keys().await.is_empty());
}

#[tokio::test]
async fn a_read_lock_stays_as_it_is() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    assert_eq!(store.refused(&acquire_write("a:1", 1), "BUSY", LEASE).await, ["1"]);
    refuses_all(&mut store).await;
}

#[tokio::test]
async fn a_write_lock_stays_as_it_is() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    refuses_all(&mut store).await;
}

#[tokio::test]
async fn a_waiter_takes_no_place() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("b:2", 1)).await;
    refuses_all(&mut store).await;
    store.stands([lock("b:2:write=1 mode=write", LEASE)]).await;
}

#[tokio::test]
async fn a_native_lock_and_its_line_stay_as_they_are() {
    let native = [
        (native_call::acquire("a:1"), native_call::acquire("b:2")),
        (native_call::read("a:1"), native_call::write("b:2")),
        (native_call::permits("a:1", 2, 2), native_call::permits("b:2", 1, 2)),
    ];
    for (holder, waiter) in native {
        let mut store = native_waiting(&[holder], &[waiter]).await;
        refuses_all(&mut store).await;
    }
}
