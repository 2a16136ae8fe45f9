//! The assertion of code that relies on a lock which its caller has taken.

use lock_core::{__private::held, LockKey, Mode};

use crate::request::context::RequestContext;

/// Panics unless the code runs under the lock on this key, acquired by a layer, an attribute or
/// [`Scope`](crate::Scope) further out and not lost. For code that is incorrect without it.
///
/// `assert_held!(key)` and `assert_held!(write key)` require the write lock, `assert_held!(read
/// key)` either mode. The key is the rendered template: `order:7` for `order:{id}`.
///
/// ```
/// use lock_tower::{LockClient, assert_held};
///
/// async fn ship(id: u64) {
///     assert_held!(format!("order:{id}"));
///     // ...
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// LockClient::in_memory().write("order:7").run(ship(7)).await?; // and so can a unit test
/// # Ok(()) }
/// ```
///
/// The check uses the state of this process and costs no round trip; only the fencing token shows
/// whether the store agrees. Where a policy lets requests run [without their
/// lock](crate::settings::Unlocked), in shadow mode for example, the check passes: the policy has decided,
/// not the code.
///
/// A spawned task does not inherit its parent's scope, so the check panics there.
///
/// # Panics
///
/// If the lock is not held. The message has the text of the expression, never the key.
#[macro_export]
macro_rules! assert_held {
    (read $key:expr) => {
        $crate::__private::assert_held($key, $crate::Mode::Read, stringify!($key))
    };
    (write $key:expr) => {
        $crate::__private::assert_held($key, $crate::Mode::Write, stringify!($key))
    };
    ($key:expr) => {
        $crate::assert_held!(write $key)
    };
}

/// The expansion of [`assert_held!`](crate::assert_held).
///
/// # Panics
///
/// If the lock is not held.
#[track_caller]
pub fn assert_held(key: impl AsRef<str>, mode: Mode, expression: &str) {
    let key = key.as_ref();
    assert!(
        held(key, mode) || is_let_pass(key),
        "this code relies on the {mode} lock on `{expression}`, and runs without it: acquire it \
         further out, and do not leave its scope (a spawned task does)"
    );
}

/// Whether a policy lets the request run without the lock on this key.
fn is_let_pass(key: &str) -> bool {
    let (Some(context), Ok(key)) = (RequestContext::ambient(), LockKey::try_from(key)) else {
        return false;
    };
    context.lets_pass(&key)
}
