use lock_core::{__private::held, LockKey, Mode};

use crate::context::RequestContext;

/// What [`assert_held!`](crate::assert_held) expands to.
///
/// # Panics
///
/// When the lock is not held.
#[track_caller]
pub fn assert_held(key: impl AsRef<str>, mode: Mode, said: &str) {
    let key = key.as_ref();
    assert!(
        held(key, mode) || is_let_pass(key),
        "this code relies on the {mode} lock on `{said}`, and runs without it: take it further out, \
         and do not leave its scope (a spawned task does)"
    );
}

/// Whether a policy has the lock on this key not count.
fn is_let_pass(key: &str) -> bool {
    let (Some(context), Ok(key)) = (RequestContext::ambient(), LockKey::try_from(key)) else {
        return false;
    };
    context.lets_pass(&key)
}
