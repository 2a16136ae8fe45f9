//! A client sends the same arguments as these tests: the last arguments only where they differ
//! from what the script takes for granted.

use std::time::Duration;

use lock_core::LockKey;
use lock_core::{
    Kind, Mode,
    test_util::{Ask, ScriptCaller, Step},
};

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

fn is_said(kind: Kind, step: Step, call: &Call, keys: usize) {
    let args = call.said().iter().map(|(_, value)| value.clone()).collect();
    let (mut sent_keys, sent_args) = sent(kind, step);
    // The client of these tests has no prefix: `lock:` is of the key's name.
    sent_keys.iter_mut().filter(|key| *key == "lock_token:").for_each(|key| key.push_str("lock:"));
    assert_eq!((sent_keys, sent_args), (call.keys[..keys].to_vec(), args));
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
        let (told, _) = sent(kind, step(0, true));
        assert_eq!(told, call.keys);
    }
}
