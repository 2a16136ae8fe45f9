//! A client sends the same arguments as these tests: the last arguments only where they differ
//! from what the script takes for granted.

use std::time::Duration;

use lock_core::LockKey;
use lock_core::{
    Kind, Mode,
    test_util::{Ask, PlainCall, ScriptCaller, Step},
};

use crate::scripts::any::call::of;
use crate::scripts::native::call as native_call;
use crate::scripts::plain::call as plain_call;
use crate::scripts::support::call::{
    Call, LEASE, PLACE_MS, acquire_read, acquire_write, release_read, release_write,
};

type Of = fn(&str, u32) -> Call;

const KINDS: [(Kind, Mode, Of, Of); 3] = [
    (Kind::Reentrant, Mode::Write, plain_call::acquire, plain_call::release),
    (Kind::ReadWrite, Mode::Write, acquire_write, release_write),
    (Kind::ReadWrite, Mode::Read, acquire_read, release_read),
];

fn ms(ms: i64) -> Duration {
    Duration::from_millis(ms.unsigned_abs())
}

fn first_try(mode: Mode) -> Ask {
    let (lease, place, waited) = (ms(LEASE), Some(ms(PLACE_MS)), Duration::ZERO);
    Ask { mode, holds: 1, lease, yields: true, place, waited, permits: 0, wanted_permits: 1 }
}

/// The keys and arguments that a client sends, except the nonce.
fn sent(kind: Kind, step: Step) -> (Vec<String>, Vec<String>) {
    let key = LockKey::try_from("lock:k").unwrap();
    let call = ScriptCaller::new(kind, &key, "a:1").call(step, "nonce");
    let args = call.args.into_iter().skip(1);
    (call.keys, args.map(|arg| String::from_utf8(arg).unwrap()).collect())
}

/// The client of these tests has no prefix: `lock:` is of the key's name.
fn with_prefix(mut keys: Vec<String>) -> Vec<String> {
    keys.iter_mut().filter(|key| *key == "lock_token:").for_each(|key| key.push_str("lock:"));
    keys
}

fn is_said(kind: Kind, step: Step, call: &Call, keys: usize) {
    let args = call.said().iter().map(|(_, value)| value.clone()).collect();
    let (sent_keys, sent_args) = sent(kind, step);
    assert_eq!((with_prefix(sent_keys), sent_args), (call.keys[..keys].to_vec(), args));
}

#[test]
fn of_an_acquisition() {
    for (kind, mode, acquire, _) in KINDS {
        let (first, call) = (first_try(mode), acquire("a:1", 1));
        let is_said = |ask, call: &Call| is_said(kind, Step::Acquire(ask), call, call.keys.len());
        is_said(first, &call);
        assert_eq!(call.said().len(), 4);
        is_said(Ask { holds: 2, ..first }, &acquire("a:1", 2));
        is_said(Ask { yields: false, ..first }, &call.with("yields", 0));
        is_said(Ask { waited: ms(700), ..first }, &call.with("waited_ms", 700));
        is_said(Ask { place: None, ..first }, &call.with("place_ms", 0));
        // Less than a millisecond is none.
        let waited = Duration::from_micros(999);
        is_said(Ask { waited, ..first }, &call);
    }
}

#[test]
fn of_a_release() {
    for (kind, mode, _, release) in KINDS {
        let call = release("a:1", 0);
        let keys = call.keys.len();
        let step = |holds, in_line| Step::Release { mode, holds, in_line };
        is_said(kind, step(0, false), &call, keys);
        assert_eq!(call.said().len(), 1);
        is_said(kind, step(1, false), &release("a:1", 1), keys);
        let (reported, _) = sent(kind, step(0, true));
        assert_eq!(reported, call.keys);
    }
}

/// An owner of a native client, which knows no token.
fn caller(kind: Kind, key: &str, owner: &str) -> ScriptCaller {
    ScriptCaller::native(kind, &LockKey::try_from(key).unwrap(), "a", owner, 0)
}

/// On the native wire all arguments are sent.
fn is_sent(sent: PlainCall, call: &Call) {
    let nonce = usize::from(call.own_nonce().is_none());
    let args = sent.args.into_iter().skip(nonce).map(|arg| String::from_utf8(arg).unwrap());
    let called: Vec<_> = call.args.iter().map(|(_, value)| value.clone()).collect();
    assert_eq!(sent.script, call.script);
    assert_eq!((with_prefix(sent.keys), args.collect()), (call.keys.clone(), called), "{call:?}");
}

const NATIVE_KINDS: [(Kind, &str); 7] = [
    (Kind::Reentrant, "e"),
    (Kind::NonReentrant, "n"),
    (Kind::Fair, "f"),
    (Kind::Fenced, "t"),
    (Kind::ReadWrite, "r"),
    (Kind::FairReadWrite, "q"),
    (Kind::Semaphore, "s"),
];

#[test]
fn of_an_acquisition_on_the_native_wire() {
    let first = Ask { yields: false, ..first_try(Mode::Write) };
    let is_sent = |kind, ask: Ask, call: &Call| {
        is_sent(caller(kind, "lock:k", "a:1").call(Step::Acquire(ask), "nonce"), call);
    };
    for (kind, letter) in NATIVE_KINDS {
        is_sent(kind, first, &native_call::acquire("a:1").with("kind", letter));
    }
    let call = native_call::read("a:1");
    let read = Ask { mode: Mode::Read, ..first };
    is_sent(Kind::ReadWrite, read, &call);
    is_sent(Kind::ReadWrite, Ask { yields: true, ..read }, &call.with("yields", 1));
    is_sent(Kind::ReadWrite, Ask { place: None, ..read }, &call.with("place", 0));
    is_sent(Kind::ReadWrite, Ask { holds: 2, ..read }, &call.with("holds", 2));
    is_sent(Kind::ReadWrite, Ask { waited: ms(700), ..read }, &call.with("waited", 700));
    let permits = Ask { permits: 4, wanted_permits: 3, ..first };
    is_sent(Kind::Semaphore, permits, &native_call::permits("a:1", 3, 4));
    let known = ScriptCaller::native(
        Kind::Reentrant,
        &LockKey::try_from("lock:k").unwrap(),
        "a",
        "a:1",
        41,
    );
    let call = native_call::acquire("a:1").with("floor", 41);
    self::is_sent(known.call(Step::Acquire(first), "nonce"), &call);
}

#[test]
fn of_every_other_step_on_the_native_wire() {
    let reader = caller(Kind::ReadWrite, "lock:k", "a:1");
    let writer = caller(Kind::Reentrant, "lock:k", "a:1");
    let other = caller(Kind::Reentrant, "lock:k", "b:2");
    let (read, write) = (Mode::Read, Mode::Write);
    let lease = ms(LEASE);
    let sent = |caller: &ScriptCaller, step| caller.call(step, "nonce");
    let release = native_call::release("ew", "a:1");
    let step = |mode, holds, in_line| Step::Release { mode, holds, in_line };
    is_sent(sent(&writer, step(write, 0, false)), &release);
    is_sent(sent(&writer, step(write, 1, true)), &release.with("holds", 1).with("queued", 1));
    is_sent(sent(&reader, step(read, 0, false)), &native_call::release("rr", "a:1"));
    is_sent(writer.release_free(write), &native_call::release_free("lt1ewa:1"));
    is_sent(reader.release_free(read), &native_call::release_free("lt1rra:1"));
    let renewed = native_call::renew("r", "read", "a:1");
    is_sent(sent(&reader, Step::Renew { mode: read, lease }), &renewed);
    let (up, down) = (
        Step::Upgrade { reads: 1, writes: 1, lease },
        Step::Downgrade { reads: 1, writes: 0, lease },
    );
    is_sent(sent(&reader, up), &native_call::convert("a:1", "write", 1, 1));
    is_sent(sent(&reader, down), &native_call::convert("a:1", "read", 1, 0));
    is_sent(
        ScriptCaller::leave(&[(&writer, write), (&other, write)], "nonce"),
        &native_call::leave("e", &[("a:1", "write"), ("b:2", "write")]),
    );
    let passed = native_call::transfer("e", "write", "a:1", "b:2");
    is_sent(writer.transfer(write, &other, "nonce"), &passed);
    is_sent(writer.inspect("nonce"), &native_call::inspect());
    is_sent(sent(&writer, Step::TakeAway), &native_call::force_release());
    let semaphore = caller(Kind::Semaphore, "lock:k", "a:1");
    is_sent(sent(&semaphore, Step::FreePermits { permits: 2 }), &native_call::count_permits());
    let ask = |mode| Ask { yields: false, ..first_try(mode) };
    let x = caller(Kind::ReadWrite, "lock:x", "a:2");
    is_sent(
        ScriptCaller::call_all(&[(&x, ask(read)), (&writer, ask(write))], "nonce"),
        &native_call::acquire_all(&[
            of("x", native_call::read("a:2")),
            native_call::acquire("a:1"),
        ]),
    );
}
